/* SPDX-License-Identifier: Apache-2.0
 * mcdoctor.c - how a server is reached from here, and what would be better.
 *
 * usage: mcdoctor HOST:PORT     or any configuration of vmc_open
 * Status 0: messages; 1: sockets only; 2: the server does not answer. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "verbena/mc.h"

#define ROUNDS 2000
#define PROBE "verbena-doctor:no-such-key"

static double now_us(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

/* Asks for a key that is not there, which changes nothing; mean us, negative: no answer. */
static double probe(vmc_t *mc)
{
    char buffer[16];
    double start = now_us();
    for (int i = 0; i < ROUNDS; i++)
        if (vmc_get(mc, PROBE, strlen(PROBE), buffer, sizeof(buffer), NULL) < 0)
            return -1;
    return (now_us() - start) / ROUNDS;
}

/* What a reason asks for. */
static const char *cure_of(const char *text)
{
    static const struct cure {
        const char *words, *cure;
    } cures[] = {
        {"the server has no messages", "what stands in the way is at the server: its log (-v) says the same"},
        {": not connected", "start the server, or give the address that it listens on"},
        {"not verbena-memcached",
         "start verbena-memcached there in the place of memcached; clients need no change for it"},
        {"XDG_RUNTIME_DIR",
         "give both sides the same key: server -o verbena_key=FILE, client VERBENA_MEMCACHED_KEY=FILE"},
        {"key file", "give the client a key file it may read: VERBENA_MEMCACHED_KEY=FILE, mode 600 or 640"},
        {"cannot connect",
         "see that both sides have the same key, and that a firewall lets the core's TCP port through"},
        {"did not connect", "see that a firewall lets the core's TCP port through (tl.tcp.port in -o verbena_core)"},
    };
    for (size_t i = 0; i < sizeof(cures) / sizeof(cures[0]); i++)
        if (strstr(text, cures[i].words) != NULL)
            return cures[i].cure;
    return NULL;
}

static int report(vmc_t *mc)
{
    char how[1024];
    vmc_counts_t counts;
    double us = probe(mc);
    (void)vmc_explain(mc, PROBE, strlen(PROBE), how, sizeof(how));
    vmc_get_counts(mc, &counts);
    printf("%s\n", how);
    if (us >= 0)
        printf("a get takes %.1f us (%d in a row, of a key that is not there)\n", us, ROUNDS);
    if (strstr(how, "shared memory only); tcp: ") != NULL)
        printf(
            "better: from the server's host, or between hosts with an RDMA device in both; vbn-info shows what a host has\n");
    const char *cure = counts.messages > 0 ? NULL : cure_of(how);
    if (cure != NULL)
        printf("cure: %s\n", cure);
    return us < 0 ? 2 : counts.messages > 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    const char *error = "usage: mcdoctor HOST:PORT";
    vmc_t *mc = argc == 2 ? vmc_open(argv[1], &error) : NULL;
    if (mc == NULL) {
        fprintf(stderr, "mcdoctor: %s\n", error);
        return 2;
    }
    int status = report(mc);
    vmc_close(mc);
    return status;
}
