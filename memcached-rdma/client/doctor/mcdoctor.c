/* SPDX-License-Identifier: Apache-2.0
 * mcdoctor.c - how a server is reached from here, what a get takes by each carrier, and what would be better.
 *
 * usage: mcdoctor HOST:PORT     or any configuration of vmc_open
 * It stores a small item under a name of its own, which expires by itself, and deletes it at the end.
 * Status 0: messages; 1: sockets only; 2: the server does not answer. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "verbena/mc.h"

#define BATCHES 20
#define BATCH 100 /* gets; the median batch counts */
#define LIFE_S 60
#define VALUE "verbena"
#define KEY_BYTES 64

typedef struct doctor {
    const char *config;
    char key[KEY_BYTES];
    vmc_status_t stored;
} doctor_t;

/* A way to the server, as an addition to the configuration. */
typedef struct way {
    const char *name, *options;
    int onesided;
} way_t;

static const way_t WAYS[] = {{"by socket", "carrier=sockets", 0},
                             {"by messages", "carrier=messages;onesided=off", 0},
                             {"one-sided", "carrier=messages;onesided=on", 1}};

static double now_us(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

static int compare(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* Microseconds of a get, the median of many batches; negative: the server did not answer. */
static double measure(vmc_t *mc, const char *key)
{
    double batches[BATCHES];
    char buffer[sizeof(VALUE)];
    for (int i = 0; i < BATCHES; i++) {
        double start = now_us();
        for (int j = 0; j < BATCH; j++)
            if (vmc_get(mc, key, strlen(key), buffer, sizeof(buffer), NULL) < 0)
                return -1;
        batches[i] = (now_us() - start) / BATCH;
    }
    qsort(batches, BATCHES, sizeof(*batches), compare);
    return batches[BATCHES / 2];
}

static vmc_t *open_way(const doctor_t *doctor, const way_t *way)
{
    char config[4096];
    int length = snprintf(config, sizeof(config), "%s;%s", doctor->config, way->options);
    return length < (int)sizeof(config) ? vmc_open(config, NULL) : NULL;
}

static void report_way(const doctor_t *doctor, const way_t *way)
{
    vmc_counts_t counts = {0};
    double us = -1;
    vmc_t *mc = open_way(doctor, way);
    if (mc != NULL) {
        us = measure(mc, doctor->key);
        vmc_get_counts(mc, &counts);
    }
    vmc_close(mc);
    if (us < 0 || (way->onesided && counts.onesided == 0))
        printf("  %-12s not possible here\n", way->name);
    else
        printf("  %-12s %.*f us%s\n", way->name, us < 10 ? 2 : 1, us,
               way->onesided ? ", some gets by messages among them" : "");
}

/* Another one each time, so that it is nobody's. */
static void make_key(doctor_t *doctor)
{
    unsigned long long number[2] = {0};
    if (getrandom(number, sizeof(number), 0) != (ssize_t)sizeof(number))
        number[0] = (unsigned long long)getpid(); /* the kernel has no randomness yet */
    (void)snprintf(doctor->key, sizeof(doctor->key), "verbena-doctor:%016llx%016llx", number[0], number[1]);
}

static void report_times(doctor_t *doctor, vmc_t *mc)
{
    if (doctor->stored == VMC_OK)
        printf("a get of %zu bytes takes, the median of %d batches of %d:\n", strlen(VALUE), BATCHES, BATCH);
    else
        printf("this server does not store an item (%s); a get of a key that is not there takes:\n",
               vmc_status_name(doctor->stored));
    for (size_t i = 0; i < sizeof(WAYS) / sizeof(WAYS[0]); i++)
        if (doctor->stored == VMC_OK || !WAYS[i].onesided)
            report_way(doctor, &WAYS[i]);
    if (doctor->stored == VMC_OK && vmc_delete(mc, doctor->key, strlen(doctor->key)) != VMC_OK)
        printf("%s could not be deleted; the item expires within %d seconds\n", doctor->key, LIFE_S);
}

/* What a reason asks for. */
static const char *cure_of(const char *text)
{
    static const struct cure {
        const char *words, *cure;
    } cures[] = {
        {"others can read the key", NULL}, /* says it itself */
        {"the server has no messages",
         "the server has the cause; the line that the server prints at its start names the cause, too"},
        {"cannot resolve", "see that the name is right, and that DNS or /etc/hosts has the name; or give an address"},
        {"No route to host", "see that a network leads to the server, and that a firewall lets the port through"},
        {"Network is unreachable", "see that a network leads to the server"},
        {"asks for a login",
         "with -Y messages need no login if the server is given a key: -o verbena_key=FILE; give the client the "
         "same key by VERBENA_MEMCACHED_KEY=FILE"},
        {"has closed the connection",
         "look at the server's flags: with -Z the server asks for TLS, and with -B binary for the binary protocol. This library "
         "speaks neither. At its limit of connections (-c) a server closes them, too"},
        {"no answer within the time",
         "see that the server is not stopped or overloaded; with -Z it waits for TLS, which this "
         "library does not speak"},
        {": not connected", "start the server, or give the address on which the server listens"},
        {"not verbena-memcached", "start verbena-memcached in the place of memcached; clients need no change"},
        {"key file",
         "give both sides the same key: server -o verbena_key=FILE, client VERBENA_MEMCACHED_KEY=FILE, mode 600 or 640"},
        {"cannot connect",
         "see that both sides have the same key, and that a firewall lets the core's TCP port through"},
        {"did not connect", "see that a firewall lets the core's TCP port through (tl.tcp.port in -o verbena_core)"},
    };
    for (size_t i = 0; i < sizeof(cures) / sizeof(cures[0]); i++)
        if (strstr(text, cures[i].words) != NULL)
            return cures[i].cure;
    return NULL;
}

static int report(doctor_t *doctor, vmc_t *mc)
{
    char how[1024];
    vmc_counts_t counts;
    make_key(doctor);
    doctor->stored = vmc_add(mc, doctor->key, strlen(doctor->key), VALUE, strlen(VALUE), LIFE_S, 0);
    (void)vmc_explain(mc, doctor->key, strlen(doctor->key), how, sizeof(how));
    vmc_get_counts(mc, &counts);
    int reached = counts.messages + counts.sockets > 0 && doctor->stored != VMC_ERR_PROTOCOL;
    printf("%s\n", how);
    if (reached)
        report_times(doctor, mc);
    if (strstr(how, "shared memory only); tcp: ") != NULL)
        printf(
            "better: from the server's host, or between hosts that both have an RDMA device; vbn-info lists a host's devices\n");
    const char *cure = counts.messages > 0 ? NULL : cure_of(how);
    if (cure != NULL)
        printf("cure: %s\n", cure);
    return !reached ? 2 : counts.messages > 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    const char *error = "usage: mcdoctor HOST:PORT";
    doctor_t doctor = {.config = argc == 2 ? argv[1] : ""};
    vmc_t *mc = argc == 2 ? vmc_open(argv[1], &error) : NULL;
    if (mc == NULL) {
        fprintf(stderr, "mcdoctor: %s\n", error);
        return 2;
    }
    int status = report(&doctor, mc);
    vmc_close(mc);
    return status;
}
