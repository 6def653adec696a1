/* SPDX-License-Identifier: Apache-2.0
 * fabric.h - a libibverbs of our own within one process: devices, queue pairs and completion queues that work as the
 * specification says, between all contexts of the process, and fail as a script says. The calls of the library from any
 * thread; script and counts are the test's.
 *
 * Requests are carried out when a completion queue is polled, never inside a post. Every address is checked against the
 * memory registered with its key, so a wrong key or a buffer freed too early is a completion with an error. */
#ifndef VBN_TESTS_VERBS_FABRIC_H
#define VBN_TESTS_VERBS_FABRIC_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What may go wrong; all 0: nothing does. Read at each use, so a test may change it at any time. */
typedef struct fabric_script {
    uint64_t seed;
    unsigned inline_max;       /* granted; more asked for is granted less */
    bool classic;              /* no ibv_wr_*: ibv_post_send only */
    unsigned mtu;              /* 1024, 2048 or 4096; 0: 4096 */
    bool infiniband;           /* LIDs, no GIDs of RoCE */
    unsigned fail_register_at; /* the k-th registration from now fails with ENOMEM; counts down */
    unsigned fail_request_at;  /* the k-th request of an RC queue pair from now fails; counts down */
    unsigned fail_status;      /* ibv_wc_status of that one */
    unsigned drop_ppm;         /* datagrams lost */
    unsigned drop_at;          /* the k-th datagram from now is lost; counts down */
    unsigned double_ppm;       /* datagrams that come twice */
    unsigned late_ppm;         /* polls that find nothing although there is something */
    bool link_down;            /* datagram requests fail, RC requests too */
    unsigned srq_most;         /* receives of a shared queue; 0: 16384. Read when a device is opened */
    unsigned rnr_limit;        /* polls that a request waits for a receive; 0: for ever */
    unsigned port_state;       /* ibv_port_state; 0: active */
    unsigned moved[2];         /* other than 0: that device has other GIDs and another LID */
    bool no_address[2];        /* that device has no GID */
    bool iwarp;        /* no datagrams, connections by rdma_cm; as with infiniband at 127.0.0.1 (fab0) and 127.0.0.2 */
    bool cm_fails;     /* attempts by rdma_cm end with this event instead */
    unsigned cm_event; /* rdma_cm_event_type */
    bool cm_forged;    /* calls by rdma_cm come with a wrong mac */
    unsigned read_pieces; /* places that a read may fill; 0: as many as other requests may name */
    unsigned pkey;        /* of index 0, other than the usual 0xFFFF */
} fabric_script_t;

typedef struct fabric_counts {
    uint64_t doorbells, requests, signalled, completions, inlined, rnr_waits;
    uint64_t rnr_naks;            /* messages that found no receive */
    uint64_t overruns;            /* completions that found their queue full */
    uint64_t bad_memory;          /* requests outside of registered memory, here */
    uint64_t refused;             /* one-sided requests that the other side's device refused */
    uint64_t served;              /* registrations alive that let the other side in */
    uint64_t reads, writes;       /* carried out */
    uint64_t asked;               /* writes of nothing, carried out */
    uint64_t most_reads;          /* of a queue pair, posted and not done */
    uint64_t hasty;               /* connections destroyed while a receive of their SRQ might be in hand */
    uint64_t cm_options;          /* ids of rdma_cm that were given a traffic class */
    uint64_t cm_ids, cm_channels; /* alive */
    uint64_t groups;              /* memberships alive */
    uint64_t contexts, pds, mrs, cqs, srqs, qps, ahs; /* alive */
    uint64_t most_qps;
    uint64_t device_bytes[2]; /* of requests carried out */
} fabric_counts_t;

extern fabric_script_t fabric_script;
extern fabric_counts_t fabric_counts;

/* The core uses this library from now on, with so many devices (fab0, fab1 ..., at most 2). */
void fabric_install(unsigned devices);
#define FABRIC_DESCRIPTORS 32 /* most that fabric_descriptors gives: of the open devices, for commands and for events */
unsigned fabric_descriptors(int fds[FABRIC_DESCRIPTORS]);
void fabric_remove(void);
void fabric_kill_device(unsigned device); /* DEVICE_FATAL, every queue pair fails */
void fabric_port_event(unsigned device, bool up);
void fabric_event(unsigned device, unsigned type); /* ibv_event_type */
/* What the host at that device's addresses does when asked for its hardware address: answers; not for now; not, and the time
 * is up. Changes also what is being asked. Any thread. */
enum fabric_neighbour { FABRIC_ANSWERS, FABRIC_HELD, FABRIC_SILENT };
void fabric_set_neighbour(unsigned device, enum fabric_neighbour how);
unsigned fabric_asked(void);                      /* address handles so far */
unsigned fabric_asking(void);                     /* in the making */
unsigned fabric_connections_with(uint64_t bytes); /* RC queue pairs alive that have carried so many */
void fabric_inject(const void *bytes,
                   unsigned length);  /* a datagram of somebody who knows the Q_Key, to all members of groups */
void fabric_forget_connections(void); /* nobody is told: what is sent over them is not answered */
void fabric_break_all_connections(unsigned status); /* all RC queue pairs fail */

#ifdef __cplusplus
}
#endif
#endif
