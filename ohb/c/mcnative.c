/* SPDX-License-Identifier: Apache-2.0
 * mcnative.c - one thread that asks a server through libverbena-memcached, one request at a time.
 *
 * usage: mcnative CONFIG get|set SIZE OPS     CONFIG: as of vmc_open
 * Every value that comes is compared with what was set; one that differs ends the program with status 1.
 * Prints one line of JSON as mcload does, with the carrier: how many requests went one-sided, by message, by socket. */
#include "load.h"
#include "verbena/mc.h"

#define KEYS 1000u
#define SIZE_MOST 32768u

/* The value of a key, which differs from those of its neighbours; the same memory each time. */
static const char *value_of(unsigned key, unsigned size)
{
    static char value[SIZE_MOST];
    return memset(value, 'a' + (int)(key % 26), size);
}

/* One request, and what came of a get. */
static int ask(vmc_t *mc, int sets, unsigned key, unsigned size, const char *sent, char *got)
{
    char name[32];
    vmc_value_t value;
    size_t length = (size_t)snprintf(name, sizeof(name), "mcload:%08u", key);
    if (sets)
        return vmc_set(mc, name, length, sent, size, 0, 0) == VMC_OK;
    return vmc_get(mc, name, length, got, SIZE_MOST, &value) == VMC_OK && value.length == size;
}

/* One request whose answer is compared with what it should be; its seconds without that, or negative: it failed. */
static double ask_checked(vmc_t *mc, int sets, unsigned key, unsigned size)
{
    static char got[SIZE_MOST];
    const char *value = value_of(key, size);
    double start = now();
    if (!ask(mc, sets, key, size, value, got))
        return -1;
    double seconds = now() - start;
    return sets || memcmp(got, value, size) == 0 ? seconds : -1;
}

/* The median of a request's seconds; negative: one failed. */
static double run(vmc_t *mc, int sets, unsigned size, unsigned long ops)
{
    double *times = calloc(ops, sizeof(*times));
    double median = -1;
    unsigned long done = 0;
    for (; times != NULL && done < ops; done++) {
        times[done] = ask_checked(mc, sets, (unsigned)(done * 7919 % KEYS), size);
        if (times[done] < 0)
            break;
    }
    if (done == ops) {
        qsort(times, ops, sizeof(*times), by_value);
        median = times[ops / 2];
    }
    free(times);
    return median;
}

static int measure(vmc_t *mc, int sets, unsigned size, unsigned long ops)
{
    char how[512];
    for (unsigned i = 0; i < KEYS; i++)
        if (ask_checked(mc, 1, i, size) < 0)
            return 1;
    for (unsigned i = 0; i < 20 * KEYS; i++) /* mappings come in the background */
        if (ask_checked(mc, 0, i % KEYS, size) < 0)
            return 1;
    double start = now(), median = run(mc, sets, size, ops), seconds = now() - start;
    vmc_counts_t counts;
    vmc_get_counts(mc, &counts);
    (void)vmc_explain(mc, "k", 1, how, sizeof(how));
    if (median < 0)
        return 1;
    fprintf(stderr, "%s\n", how);
    printf(
        "{\"ops\": %lu, \"seconds\": %.6f, \"p50_us\": %.3f, \"rate\": %.1f, \"onesided\": %llu, \"messages\": %llu, "
        "\"sockets\": %llu}\n",
        ops, seconds, median * 1e6, (double)ops / seconds, (unsigned long long)counts.onesided,
        (unsigned long long)counts.messages, (unsigned long long)counts.sockets);
    return 0;
}

int main(int argc, char **argv)
{
    const char *error = "usage: mcnative CONFIG get|set SIZE OPS";
    vmc_t *mc = argc == 5 ? vmc_open(argv[1], &error) : NULL;
    unsigned size = argc == 5 ? (unsigned)atoi(argv[3]) : 0;
    unsigned long ops = argc == 5 ? strtoul(argv[4], NULL, 10) : 0;
    if (mc == NULL || size == 0 || size > SIZE_MOST || ops == 0) {
        fprintf(stderr, "mcnative: %s\n", error);
        return 2;
    }
    int status = measure(mc, strcmp(argv[2], "set") == 0, size, ops);
    if (status != 0)
        fprintf(stderr, "mcnative: a request failed, or a get returned another value than the one that was set\n");
    vmc_close(mc);
    return status;
}
