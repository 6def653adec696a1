/* SPDX-License-Identifier: Apache-2.0
 * perf.h - what the parts of vbn-perf share.
 *
 *   main.c   options, the two processes            rows.c   the table of rows, blocks, medians, output
 *   process.c  time, processor and end of a process
 *   ours.c   our half: worker, peer, messages      raw.c    the bare mechanisms that ours is compared with
 *   verbs.c  the same for tagged messages, atomics, signals, strides
 *   rival.c  the same through ucx_perftest          perftest.c  the same through ib_send_lat and its like
 *   crowd.c  four workers on two processors         self.c   cost of single operations within one process (--self)
 *
 *   client (parent, first cpu)                     server (child, second cpu)
 *   measures, prints                               progresses, answers, or runs its half of a raw reference
 */
#ifndef VBN_PERF_H
#define VBN_PERF_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "tool.h"
#include "vbn/vbn.h"

#define PERF_NAME "vbn-perf"
#define perf_fail(...) tool_fail(PERF_NAME, __VA_ARGS__) /* one line, exit status 2 */

#define REGION ((size_t)64 << 20)
#define MAX_BLOCKS 101
#define WINDOW 64
#define DEADLINE_S 60.0

typedef enum raw_kind { RAW_NONE, RAW_LINE, RAW_ECHO, RAW_SINK, RAW_SOURCE, RAW_REST, RAW_STOP } raw_kind_t;

/* Pages that both processes map. */
typedef struct shared {
    _Atomic int ready[2];
    _Atomic int failing; /* one of the two is about to tell why it ends */
    _Atomic int failed;  /* it has told, and ends */
    size_t address_length[2];
    uint8_t address[2][VBN_ADDRESS_MAX];
    size_t key_length;
    uint8_t key[VBN_KEY_MAX];
    _Atomic uint64_t command; /* sequence << 8 | raw_kind_t */
    _Atomic uint64_t done;
    uint64_t count; /* of the command: rounds or bytes */
    uint64_t size;
    _Alignas(128) _Atomic uint64_t ping;
    _Alignas(128) _Atomic uint64_t pong;
    _Alignas(128) _Atomic uint64_t word; /* of atomic_bare */
} shared_t;

/* One process. */
typedef struct side {
    shared_t *shared;
    int rank;   /* 0 client, 1 server */
    int socket; /* of the raw references */
    vbn_context_t *context;
    vbn_worker_t *worker;
    vbn_peer_t *peer;
    vbn_key_t *key;
    vbn_mem_t *memory;
    uint8_t *buffer; /* REGION bytes of the core */
    uint8_t *heap;   /* REGION bytes of our own */
    const char *transport;
    const int *cpus;
    const char *pypi_ucx; /* folder of that UCX, or NULL */
    unsigned stages;      /* VBN_SEND_* of the messages to be pulled */
    uint8_t *raw;         /* REGION bytes shared by both, for memcpy */
    uint64_t counted;     /* messages received since the last reply */
    uint64_t expected;
    uint64_t replies;
    size_t free_count;
    vbn_op_t ops[WINDOW];
    vbn_op_t *free_ops[WINDOW];
    struct iovec iov[WINDOW];
    struct iovec pieces[WINDOW][2];
    vbn_op_t tag_op; /* the server's receive */
    vbn_tag_info_t tag_info;
    struct iovec tag_iov;
} side_t;

typedef struct perf_settings {
    const char *transports;
    const char *rows;
    const char *sizes;
    unsigned blocks;
    double scale;    /* of the repetitions */
    unsigned stages; /* VBN_SEND_*, of pulled messages */
    int cpus[2];
    const char *pypi_ucx; /* folder with bin/ucx_perftest and lib, or NULL */
    bool table;
    bool self;
} perf_settings_t;

/* One measurement; returns the value in its row's unit. */
typedef double (*measure_t)(side_t *side, size_t size, uint64_t count);

/* ---- process.c */
double now(void);                             /* seconds */
void end_together(shared_t *shared);          /* from now on there are two processes; NULL: there is one */
_Noreturn void fail(const char *what);        /* prints it with the core's error text */
_Noreturn void fail_system(const char *what); /* with errno's */
/* For a child: ends with its parent, also when that has ended already. */
void end_with(pid_t parent);
bool other_failed(const side_t *side); /* the other process has told why and ended */
void check(vbn_status_t status, const char *what);
void pin(int cpu);

/* ---- ours.c */
void open_side(side_t *side, const char *transport); /* the server also exports its memory */
void connect_client(side_t *side);
void close_side(side_t *side);
double am_latency(side_t *side, size_t size, uint64_t count);
double am_rate(side_t *side, size_t size, uint64_t count);
double get_bandwidth(side_t *side, size_t size, uint64_t count);
double put_bandwidth(side_t *side, size_t size, uint64_t count);
double pull_bandwidth(side_t *side, size_t size, uint64_t count);
double heap_bandwidth(side_t *side, size_t size, uint64_t count);
double pieces_bandwidth(side_t *side, size_t size, uint64_t count); /* the same from and to memory of our own */
vbn_op_t *take_op(side_t *side); /* one of WINDOW whose completion gives it back; waits for it */
void give_op(side_t *side, vbn_op_t *op);
void drain(side_t *side); /* until all are complete */

/* ---- verbs.c */
void serve_tags(side_t *side); /* the server answers tagged messages from now on */
double tag_latency(side_t *side, size_t size, uint64_t count);
double atomic_latency(side_t *side, size_t size, uint64_t count); /* fetch and add of size bytes, round trip */
double atomic_bare(side_t *side, size_t size, uint64_t count);    /* the same on a word that both processes map */
double signal_bandwidth(side_t *side, size_t size, uint64_t count);
double strided_bandwidth(side_t *side, size_t size, uint64_t count); /* every second block of STRIDED_BLOCK bytes */
double strided_bare(side_t *side, size_t size, uint64_t count);      /* the same by copies */

/* ---- raw.c */
void raw_pair(int pair[2]); /* connected TCP sockets over loopback */
void raw_command(side_t *side, raw_kind_t kind, uint64_t count, uint64_t size);
void raw_wait(side_t *side);                   /* until the server has done it */
void raw_serve(side_t *side, raw_kind_t kind); /* the server's half of a command */
double line_latency(side_t *side, size_t size, uint64_t count);
double line_rate(side_t *side, size_t size, uint64_t count);
double socket_latency(side_t *side, size_t size, uint64_t count);
double socket_rate(side_t *side, size_t size, uint64_t count);
double socket_round_trip(side_t *side, size_t size, uint64_t count);
double socket_out(side_t *side, size_t size, uint64_t count);
double socket_in(side_t *side, size_t size, uint64_t count);
double memcpy_bandwidth(side_t *side, size_t size, uint64_t count);

/* ---- rival.c */
bool rival_there(const char *folder); /* NULL: Debian's */
double rival_latency(side_t *side, size_t size, uint64_t count);
double rival_rate(side_t *side, size_t size, uint64_t count);
double rival_bandwidth(side_t *side, size_t size, uint64_t count);
double pypi_latency(side_t *side, size_t size, uint64_t count); /* the same by the UCX of side->pypi_ucx */
double pypi_rate(side_t *side, size_t size, uint64_t count);
double pypi_bandwidth(side_t *side, size_t size, uint64_t count);
int rival_port(void); /* free on loopback */
/* Starts timeout(1) with these arguments on the rank's processor; output to `out`, nowhere when that is -1. libraries:
 * folder where the program's are looked for first, or empty. */
pid_t rival_start(const side_t *side, int rank, int out, const char *libraries, char *const arguments[]);
void rival_rest(side_t *side); /* our server sleeps from here on */
void rival_rest_end(side_t *side);

/* ---- perftest.c */
bool perftest_there(void);
double perftest_send(side_t *side, size_t size, uint64_t count);
double perftest_write(side_t *side, size_t size, uint64_t count);
double perftest_read(side_t *side, size_t size, uint64_t count);
double perftest_atomic(side_t *side, size_t size, uint64_t count);

/* ---- crowd.c */
double crowd_latency(side_t *side, size_t size, uint64_t count);
double crowd_futex(side_t *side, size_t size, uint64_t count);

/* ---- rows.c */
double median(double *values, unsigned count);   /* sorts them */
bool listed(const char *list, const char *word); /* in a comma-separated list; true when it is NULL */
const char *row_name(size_t index);              /* NULL past the last */
void run_rows(side_t *side, const char *transport, const perf_settings_t *settings);

/* ---- self.c */
void run_self(const perf_settings_t *settings);

#endif
