/* SPDX-License-Identifier: Apache-2.0
 * perftest.c - the same through ib_send_lat and its like (Debian's perftest): a server and a client on the processors and
 * the device of ours, which rest meanwhile. The last line of numbers is what counts. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "numbers.h"
#include "perf.h"

#define FOLDER "/usr/bin/"
#define RIVAL_S "60" /* no run takes longer */
#define TRIES 6
#define GID_INDEX "1"  /* RoCE v2 over IPv4 in soft-RoCE */
#define LEAST_ROUNDS 5 /* it takes no fewer */

/* Columns of its lines of numbers: of latencies, of bandwidths. */
enum { BYTES, ITERATIONS, LATENCY_MIN_US, LATENCY_MAX_US, LATENCY_TYPICAL_US, LATENCY_AVERAGE_US, COLUMNS };
enum { BANDWIDTH_AVERAGE = 3, BANDWIDTH_COLUMNS = 5 };

typedef struct test {
    const char *program;
    const char *connection; /* RC, UD */
    int columns;
    int wanted;
} test_t;

bool perftest_there(void)
{
    return access(FOLDER "ib_send_lat", X_OK) == 0;
}

/* The measurement in the client's output, or -1. */
static double read_output(int fd, const test_t *test)
{
    FILE *in = fdopen(fd, "r");
    if (in == NULL)
        fail_system("output of perftest");
    double found = numbers_last(in, test->columns, test->wanted);
    (void)fclose(in);
    return found;
}

static double run_once(side_t *side, const test_t *test, size_t size, uint64_t count, unsigned wait_us)
{
    char path[64], port[16], bytes[32], rounds[32];
    int ends[2], status = 0;
    (void)snprintf(path, sizeof(path), FOLDER "%s", test->program);
    (void)snprintf(port, sizeof(port), "%d", rival_port());
    (void)snprintf(bytes, sizeof(bytes), "%zu", size);
    (void)snprintf(rounds, sizeof(rounds), "%llu", (unsigned long long)(count < LEAST_ROUNDS ? LEAST_ROUNDS : count));
    bool atomic = strcmp(test->program, "ib_atomic_lat") == 0; /* always 8 bytes, always RC */
    /* clang-format off */
    char *arguments[] = {"timeout", RIVAL_S, path, "-F", "-x", GID_INDEX, "-p", port, "-n", rounds,
                         atomic ? "-A" : "-s", atomic ? "FETCH_AND_ADD" : bytes,
                         atomic ? NULL : "-c", (char *)(uintptr_t)test->connection, NULL, NULL};
    /* clang-format on */
    int last = atomic ? 12 : 14; /* where the server's name goes */
    pid_t server = rival_start(side, 1, -1, "", arguments);
    usleep(wait_us); /* until it listens */
    arguments[last] = "127.0.0.1";
    arguments[last + 1] = NULL;
    if (pipe2(ends, O_CLOEXEC) != 0)
        fail_system("pipe of perftest");
    pid_t client = rival_start(side, 0, ends[1], "", arguments);
    close(ends[1]);
    double value = read_output(ends[0], test);
    (void)waitpid(client, &status, 0);
    (void)kill(server, SIGTERM);
    (void)waitpid(server, NULL, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? value : -1;
}

static double perftest(side_t *side, const test_t *test, size_t size, uint64_t count)
{
    double value = -1;
    rival_rest(side);
    for (unsigned i = 0; i < TRIES && value <= 0; i++)
        value = run_once(side, test, size, count, 400000u << i);
    rival_rest_end(side);
    if (value <= 0)
        fail("perftest printed no usable number in 6 runs; run ib_send_lat by hand to see why");
    return value;
}

double perftest_send(side_t *side, size_t size, uint64_t count)
{
    const test_t test = {"ib_send_lat", strcmp(side->transport, "ud") == 0 ? "UD" : "RC", COLUMNS, LATENCY_AVERAGE_US};
    return perftest(side, &test, size, count) * 1e3;
}

double perftest_write(side_t *side, size_t size, uint64_t count)
{
    const test_t test = {"ib_write_bw", "RC", BANDWIDTH_COLUMNS, BANDWIDTH_AVERAGE};
    return perftest(side, &test, size, count) * 1.048576; /* it counts in MiB */
}

double perftest_read(side_t *side, size_t size, uint64_t count)
{
    const test_t test = {"ib_read_bw", "RC", BANDWIDTH_COLUMNS, BANDWIDTH_AVERAGE};
    return perftest(side, &test, size, count) * 1.048576;
}

double perftest_atomic(side_t *side, size_t size, uint64_t count)
{
    const test_t test = {"ib_atomic_lat", "RC", COLUMNS, LATENCY_AVERAGE_US};
    return perftest(side, &test, size, count) * 1e3;
}
