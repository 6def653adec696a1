/* SPDX-License-Identifier: Apache-2.0
 * mchosts.c - the client library against a server on another host, for tests of the transports between hosts.
 *
 * usage: mchosts CONFIG check     every kind of call, values checked byte by byte; prints how the server is reached
 *        mchosts CONFIG outlive   prints "serving", works until a request fails, prints that, works until one succeeds again
 * CONFIG is vmc_open's. Status 0: as it should be; 1: not; 2: usage. Ends by itself. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "verbena/mc.h"

#define LARGEST (1000u << 10) /* an item of it stays below the server's 1 MiB */
#define KEYS 40u
#define SECONDS 100

static char value[LARGEST], buffer[LARGEST];

static void fill(size_t bytes, unsigned seed)
{
    for (size_t i = 0; i < bytes; i++)
        value[i] = (char)(i * 131 + (i >> 8) * 7 + seed);
}

/* False, with a line that says which step failed. */
static bool step(const char *what, size_t number, vmc_status_t status, vmc_status_t wanted)
{
    if (status != wanted)
        printf("%s %zu: %s, not %s\n", what, number, vmc_status_name(status), vmc_status_name(wanted));
    return status == wanted;
}

static bool say(bool right, const char *what)
{
    if (!right)
        printf("%s: wrong\n", what);
    return right;
}

/* ------------------------------------------------------------------------------------------- check */

static bool check_sizes(vmc_t *mc)
{
    static const size_t sizes[] = {0, 1, 100, 4096, 4097, 20000, 65536, 300000, LARGEST - 1000};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        vmc_value_t got = {0};
        fill(sizes[i], (unsigned)i);
        if (!step("set of bytes", sizes[i], vmc_set(mc, "size", 4, value, sizes[i], 0, (uint32_t)i), VMC_OK) ||
            !step("get of bytes", sizes[i], vmc_get(mc, "size", 4, buffer, sizeof(buffer), &got), VMC_OK) ||
            !say(got.length == sizes[i] && got.flags == i && memcmp(buffer, value, got.length) == 0, "its bytes"))
            return false;
    }
    return step("get into a small buffer", 10, vmc_get(mc, "size", 4, buffer, 10, NULL), VMC_ERR_TRUNCATED);
}

static bool check_conditions(vmc_t *mc)
{
    uint64_t number = 0;
    vmc_value_t got = {0};
    return step("add", 1, vmc_add(mc, "n", 1, "41", 2, 0, 0), VMC_OK) &&
           step("add", 2, vmc_add(mc, "n", 1, "1", 1, 0, 0), VMC_NOT_STORED) &&
           step("incr", 1, vmc_incr(mc, "n", 1, 1, &number), VMC_OK) && say(number == 42, "its result") &&
           step("decr", 1, vmc_decr(mc, "n", 1, 50, &number), VMC_OK) && say(number == 0, "its result") &&
           step("set", 1, vmc_set(mc, "n", 1, "text", 4, 0, 0), VMC_OK) &&
           step("append", 1, vmc_append(mc, "n", 1, "s", 1), VMC_OK) &&
           step("incr of a text", 1, vmc_incr(mc, "n", 1, 1, &number), VMC_ERR_NON_NUMERIC) &&
           step("get", 1, vmc_get(mc, "n", 1, buffer, sizeof(buffer), &got), VMC_OK) &&
           step("cas", 1, vmc_cas(mc, "n", 1, "new", 3, 0, 0, got.cas + 1), VMC_EXISTS) &&
           step("cas", 2, vmc_cas(mc, "n", 1, "new", 3, 0, 0, got.cas), VMC_OK) &&
           step("touch", 1, vmc_touch(mc, "n", 1, 1000), VMC_OK) && step("delete", 1, vmc_delete(mc, "n", 1), VMC_OK) &&
           step("delete", 2, vmc_delete(mc, "n", 1), VMC_NOT_FOUND) &&
           step("get", 2, vmc_get(mc, "n", 1, buffer, sizeof(buffer), NULL), VMC_NOT_FOUND);
}

typedef struct seen {
    unsigned found, wrong;
} seen_t;

static size_t bytes_of(size_t index)
{
    return index % 10 == 0 ? 30000 : index * 3;
}

static void on_found(void *arg, size_t index, const void *bytes, const vmc_value_t *got)
{
    seen_t *seen = arg;
    fill(bytes_of(index), (unsigned)index);
    seen->found++;
    seen->wrong += got->length != bytes_of(index) || memcmp(bytes, value, got->length) != 0;
}

/* Sets that are all in progress at once, then one get of all keys; every third key is not there. */
static bool check_many(vmc_t *mc)
{
    static char names[KEYS][16];
    vmc_key_t keys[KEYS];
    vmc_req_t reqs[KEYS], *waits[KEYS];
    seen_t seen = {0};
    size_t count = 0;
    for (size_t i = 0; i < KEYS; i++) {
        keys[i] = (vmc_key_t){names[i], (size_t)snprintf(names[i], sizeof(names[i]), "many:%zu", i)};
        if (i % 3 == 0)
            continue;
        fill(bytes_of(i), (unsigned)i);
        (void)vmc_bset(mc, names[i], keys[i].length, value, bytes_of(i), 0, 0, &reqs[count]);
        waits[count] = &reqs[count];
        count++;
    }
    return step("sets at once", count, vmc_wait_all(mc, waits, count, UINT64_C(1000000000) * SECONDS), VMC_OK) &&
           step("get of keys", KEYS, vmc_mget(mc, keys, KEYS, on_found, &seen), VMC_OK) &&
           say(seen.found == count && seen.wrong == 0, "what it found");
}

static void explain(vmc_t *mc, const char *before)
{
    char text[1024];
    (void)vmc_explain(mc, "size", 4, text, sizeof(text));
    printf("%s%s\n", before, text);
    (void)fflush(stdout);
}

static int check(vmc_t *mc)
{
    bool right = check_sizes(mc) && check_conditions(mc) && check_many(mc);
    vmc_counts_t counts;
    vmc_get_counts(mc, &counts);
    explain(mc, "");
    printf("%llu answers by message, %llu by socket, %llu gets one-sided\n", (unsigned long long)counts.messages,
           (unsigned long long)counts.sockets, (unsigned long long)counts.onesided);
    printf("%s\n", right ? "every call was right" : "a call was wrong");
    return right ? 0 : 1;
}

/* ----------------------------------------------------------------------------------------- outlive */

/* Sets and gets until the outcome is as wanted or the time is over; returns the last status. */
static vmc_status_t work_until(vmc_t *mc, bool succeeds, time_t end)
{
    vmc_status_t status;
    do {
        status = vmc_set(mc, "work", 4, value, 5000, 0, 0);
        if (status == VMC_OK)
            status = vmc_get(mc, "work", 4, buffer, sizeof(buffer), NULL);
        if (status < 0 && succeeds) {
            struct timespec pause = {.tv_nsec = 20000000}; /* the next attempt to connect comes no sooner */
            (void)nanosleep(&pause, NULL);
        }
    } while ((status == VMC_OK) != succeeds && time(NULL) < end);
    return status;
}

static int outlive(vmc_t *mc)
{
    time_t end = time(NULL) + SECONDS;
    if (!step("work", 1, work_until(mc, true, end), VMC_OK) ||
        !step("set", 1, vmc_set(mc, "old", 3, "v", 1, 0, 0), VMC_OK))
        return 1;
    explain(mc, "serving: ");
    vmc_status_t status = work_until(mc, false, end);
    printf("failed: %s: ", vmc_status_name(status));
    explain(mc, "");
    status = work_until(mc, true, end);
    explain(mc, "again: ");
    printf("the old item: %s\n", vmc_status_name(vmc_get(mc, "old", 3, buffer, sizeof(buffer), NULL)));
    return status == VMC_OK ? 0 : 1;
}

int main(int argc, char **argv)
{
    const char *error = "usage: mchosts CONFIG check|outlive";
    bool checks = argc == 3 && strcmp(argv[2], "check") == 0, outlives = argc == 3 && strcmp(argv[2], "outlive") == 0;
    vmc_t *mc = checks || outlives ? vmc_open(argv[1], &error) : NULL;
    if (mc == NULL) {
        fprintf(stderr, "mchosts: %s\n", error);
        return 2;
    }
    int status = checks ? check(mc) : outlive(mc);
    vmc_close(mc);
    return status;
}
