/* SPDX-License-Identifier: Apache-2.0
 * rows.c - the rows. Each block measures ours, then raw, so that both see the same machine; a row is the median of its
 * blocks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "perf.h"

typedef struct row {
    const char *name;
    const char *metric;
    const char *unit;
    measure_t ours;
    measure_t raw_shm;
    measure_t raw_tcp; /* and over rc and ud */
    const char *sizes;
    double count; /* repetitions per block over shm, */
    double bytes; /* or, for bandwidth, bytes per block */
} row_t;

static const row_t ROWS[] = {
    {"core.am.latency", "one-way latency", "ns", am_latency, line_latency, socket_latency, "0,8,64,1024,4096", 20000,
     0},
    {"core.am.rate", "message rate", "M/s", am_rate, line_rate, socket_rate, "8,64,1024", 200000, 0},
    {"core.get.bandwidth", "bandwidth", "MB/s", get_bandwidth, memcpy_bandwidth, socket_in,
     "4096,65536,1048576,16777216", 0, 256e6},
    {"core.put.bandwidth", "bandwidth", "MB/s", put_bandwidth, memcpy_bandwidth, socket_out,
     "4096,65536,1048576,16777216", 0, 256e6},
    {"core.pull.bandwidth", "bandwidth", "MB/s", pull_bandwidth, memcpy_bandwidth, socket_out, "65536,1048576,16777216",
     0, 256e6},
    {"core.tag.latency", "one-way latency", "ns", tag_latency, line_latency, socket_latency, "8,1024,65536", 20000, 0},
    {"core.atomic.latency", "round trip", "ns", atomic_latency, atomic_bare, socket_round_trip, "4,8", 20000, 0},
    {"core.signal.bandwidth", "bandwidth", "MB/s", signal_bandwidth, memcpy_bandwidth, socket_out, "64,4096,65536", 0,
     64e6},
    {"core.strided.bandwidth", "bandwidth", "MB/s", strided_bandwidth, strided_bare, socket_out, "4096,65536,1048576",
     0, 64e6},
    {"core.pull.private.bandwidth", "bandwidth", "MB/s", heap_bandwidth, memcpy_bandwidth, socket_out,
     "65536,1048576,16777216", 0, 256e6},
    {"core.pull.pieces.bandwidth", "bandwidth", "MB/s", pieces_bandwidth, memcpy_bandwidth, socket_out, "65536,1048576",
     0, 256e6},
    {"core.crowd.latency", "one-way latency", "ns", crowd_latency, crowd_futex, crowd_futex, "8", 4000, 0},
    {"core.ucx.am.latency", "one-way latency", "ns", am_latency, rival_latency, rival_latency, "8,1024", 100000, 0},
    {"core.ucx.am.rate", "message rate", "M/s", am_rate, rival_rate, rival_rate, "8", 1000000, 0},
    {"core.ucx.bandwidth", "bandwidth", "MB/s", heap_bandwidth, rival_bandwidth, rival_bandwidth, "1048576", 0, 2e9},
    {"core.pypi-ucx.am.latency", "one-way latency", "ns", am_latency, pypi_latency, pypi_latency, "8,1024", 100000, 0},
    {"core.pypi-ucx.am.rate", "message rate", "M/s", am_rate, pypi_rate, pypi_rate, "8", 1000000, 0},
    {"core.pypi-ucx.bandwidth", "bandwidth", "MB/s", heap_bandwidth, pypi_bandwidth, pypi_bandwidth, "1048576", 0, 2e9},
    {"core.perftest.am.latency", "one-way latency", "ns", am_latency, NULL, perftest_send, "8", 20000, 0},
    {"core.perftest.put.bandwidth", "bandwidth", "MB/s", put_bandwidth, NULL, perftest_write, "1048576", 0, 256e6},
    {"core.perftest.get.bandwidth", "bandwidth", "MB/s", get_bandwidth, NULL, perftest_read, "1048576", 0, 256e6},
    {"core.perftest.pull.bandwidth", "bandwidth", "MB/s", pull_bandwidth, NULL, perftest_read, "1048576", 0, 256e6},
    {"core.perftest.atomic.latency", "round trip", "ns", atomic_latency, NULL, perftest_atomic, "8", 20000, 0},
};

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return x < y ? -1 : x > y;
}

double median(double *values, unsigned count)
{
    qsort(values, count, sizeof(*values), compare);
    return values[count / 2];
}

static uint64_t repetitions(const row_t *row, const perf_settings_t *settings, bool tcp, size_t size)
{
    double count = row->bytes > 0 ? row->bytes / (double)size : row->count;
    count = count * settings->scale / (tcp ? 5 : 1);
    if (row->bytes > 0 && count > 20000)
        count = 20000;
    return count < 4 ? 4 : (uint64_t)count;
}

const char *row_name(size_t index)
{
    return index < sizeof(ROWS) / sizeof(ROWS[0]) ? ROWS[index].name : NULL;
}

static void run_row(side_t *side, const row_t *row, const char *transport, size_t size, const perf_settings_t *settings)
{
    bool tcp = strcmp(transport, "shm") != 0; /* or RDMA: rows without core.perftest. set it against plain sockets */
    measure_t raw = tcp ? row->raw_tcp : row->raw_shm;
    double ours[MAX_BLOCKS];
    double bare[MAX_BLOCKS];
    uint64_t count = repetitions(row, settings, tcp, size);
    (void)row->ours(side, size, count / 10 + 1); /* warm-up */
    for (unsigned i = 0; i < settings->blocks; i++) {
        ours[i] = row->ours(side, size, count);
        bare[i] = raw(side, size, count);
    }
    double a = median(ours, settings->blocks);
    double b = median(bare, settings->blocks);
    if (settings->table)
        printf("%-20s %-4s %9zu  %12.1f %12.1f  %-5s %6.2f\n", row->name, transport, size, a, b, row->unit, a / b);
    else
        printf("{\"row\": \"%s\", \"transport\": \"%s\", \"size\": %zu, \"metric\": \"%s\", \"unit\": \"%s\", "
               "\"ours\": %.3f, \"raw\": %.3f, \"ratio\": %.4f}\n",
               row->name, transport, size, row->metric, row->unit, a, b, a / b);
    (void)fflush(stdout);
}

bool listed(const char *list, const char *word)
{
    size_t length = strlen(word);
    for (const char *p = list; p != NULL; p = strchr(p, ',') != NULL ? strchr(p, ',') + 1 : NULL)
        if (strncmp(p, word, length) == 0 && (p[length] == ',' || p[length] == '\0'))
            return true;
    return list == NULL;
}

static const char *pypi_left_out(const char *folder)
{
    if (folder == NULL)
        return "it needs --pypi-ucx DIR (PyPI: libucx-cu12)";
    return rival_there(folder) ? NULL : "the folder of --pypi-ucx has no bin/ucx_perftest";
}

/* Why this row is not run over this transport; NULL when it is. *plain_p: nobody expects it there who has not named it. */
static const char *left_out(const side_t *side, const char *name, const char *transport, bool *plain_p)
{
    bool rdma = strcmp(transport, "rc") == 0 || strcmp(transport, "ud") == 0;
    bool pypi = strncmp(name, "core.pypi-ucx.", 14) == 0;
    bool rival = pypi || strncmp(name, "core.ucx.", 9) == 0;
    bool perftest = strncmp(name, "core.perftest.", 14) == 0;
    *plain_p = true;
    if (rival && rdma)
        return "it is for shm and tcp";
    if (perftest && !rdma)
        return "it is for rc and ud";
    if (perftest && strcmp(transport, "ud") == 0 && strcmp(name, "core.perftest.am.latency") != 0)
        return "it is for rc";
    *plain_p = pypi && side->pypi_ucx == NULL;
    if (pypi)
        return pypi_left_out(side->pypi_ucx);
    if (rival)
        return rival_there(NULL) ? NULL : "ucx_perftest is not installed (Debian: apt install ucx-utils)";
    if (!perftest)
        return NULL;
    return perftest_there() ? NULL : "ib_send_lat is not installed (Debian: apt install perftest)";
}

void run_rows(side_t *side, const char *transport, const perf_settings_t *settings)
{
    for (size_t i = 0; i < sizeof(ROWS) / sizeof(ROWS[0]); i++) {
        if (!listed(settings->rows, ROWS[i].name))
            continue;
        bool plain;
        const char *reason = left_out(side, ROWS[i].name, transport, &plain);
        if (reason != NULL && (!plain || settings->rows != NULL))
            printf("# %s over %s: left out, %s\n", ROWS[i].name, transport, reason);
        if (reason != NULL)
            continue;
        const char *p = settings->sizes != NULL ? settings->sizes : ROWS[i].sizes;
        while (*p != '\0') {
            char *end;
            size_t size = strtoull(p, &end, 10);
            if (ROWS[i].bytes > 0 && size == 0)
                perf_fail("a bandwidth of 0 bytes cannot be measured: %s", ROWS[i].name);
            run_row(side, &ROWS[i], transport, size, settings);
            p = *end == ',' ? end + 1 : end;
        }
    }
}
