/* SPDX-License-Identifier: Apache-2.0
 * sim.h - a simulated network: many workers in one process, a clock that moves only when told, and faults drawn from a
 * seed, so that one seed is one exact run.
 *
 *   worker --tl_sim_ops----> fabric 0 \
 *          --tl_sim2_ops---> fabric 1 /  one sim_net_t (clock, PRNG, packets on their way): that of the last
 *                                        sim_net_enter()
 *
 * A test gives the two tables to link_engine_open_with, and the net's clock in link_params.
 *
 * A fabric is reliable and ordered (connections, as tcp) or carries datagrams: lost, doubled, late, overtaking, without
 * notice of a peer's end; an endpoint that is there answers probe() without its worker's progress. One thread drives the
 * net and all its workers. */
#ifndef VBN_TESTS_SIM_H
#define VBN_TESTS_SIM_H

#include <stdbool.h>

#include "base/os.h"
#include "tl/tl.h"

#define SIM_FABRICS 2u
#define SIM_PACKET_MIN 1024u /* smallest packet_max */

typedef struct sim_net sim_net_t;

/* Probabilities are per million packets. */
typedef struct sim_fabric {
    bool datagram;
    bool costly;            /* TL_CAP_COSTLY: peers are promoted to it */
    uint32_t packet_max;    /* header + payload bytes (MTU) */
    uint64_t delay_ns;      /* one way */
    uint64_t jitter_ns;     /* 0 .. this much more, drawn per packet; datagrams overtake each other */
    uint32_t loss_ppm;      /* datagrams: never arrive */
    uint32_t duplicate_ppm; /* datagrams: arrive twice */
    uint32_t late_ppm;      /* datagrams: take up to 50 times the delay */
    uint32_t busy_ppm;      /* send() says VBN_BUSY */
    uint32_t later_ppm;     /* send() says VBN_INPROGRESS and reads the payload in a later progress */
    uint64_t later_ns;      /* .. or up to this much later */
    uint32_t inbox_max; /* packets that may wait at a receiver: more are lost, or VBN_BUSY when reliable; 0: no limit */
} sim_fabric_t;

/* What a test sees of each packet that is launched; it may change the header in place and shrink *bytes. */
typedef enum sim_verdict { SIM_PASS, SIM_DROP, SIM_KILL } sim_verdict_t;
typedef sim_verdict_t (*sim_tap_func_t)(void *arg, uint64_t from_uid, uint64_t to_uid, uint8_t *header,
                                        uint32_t *bytes);

/* Both fabrics start perfect: reliable, 10 us, 64 KiB packets. NULL: no heap. */
sim_net_t *sim_net_open(uint64_t seed);
/* After all its interfaces are closed. */
void sim_net_close(sim_net_t *net);
/* Engines that open from now on are in this net. */
void sim_net_enter(sim_net_t *net);
/* Before interfaces open for datagram, costly and packet_max; the rest at any time. */
void sim_net_set_fabric(sim_net_t *net, unsigned fabric, const sim_fabric_t *config);
/* Partition: nothing passes between the two, either way, on this fabric until healed (cut = false). Datagrams are lost,
 * packets of reliable fabrics wait. false: no heap. */
bool sim_net_cut(sim_net_t *net, unsigned fabric, uint64_t a_uid, uint64_t b_uid, bool cut);
/* The connection that carries the count-th packet from now on this fabric breaks with it (0: none). Reliable: both ends
 * hear of it, what is on its way may or may not arrive. Datagrams: the sender's endpoint fails. */
void sim_net_kill_after(sim_net_t *net, unsigned fabric, uint64_t count);
/* As kill_after, for all connections of a worker on a fabric, at once. */
void sim_net_kill_worker(sim_net_t *net, unsigned fabric, uint64_t uid);
void sim_net_set_tap(sim_net_t *net, sim_tap_func_t func, void *arg);

const os_clock_t *sim_net_clock(const sim_net_t *net);
uint64_t sim_net_now_ns(const sim_net_t *net);
uint64_t sim_net_random(sim_net_t *net);
/* Moves the clock to the next arrival and puts what arrives then into inboxes (progress delivers it). false: nothing
 * arrives until limit_ns; the clock is at limit_ns then. */
bool sim_net_step(sim_net_t *net, uint64_t limit_ns);

extern const tl_ops_t tl_sim_ops;  /* "sim", fabric 0 */
extern const tl_ops_t tl_sim2_ops; /* "sim2", fabric 1 */

#endif
