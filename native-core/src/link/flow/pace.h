/* SPDX-License-Identifier: Apache-2.0
 * pace.h - how long the sender of datagrams waits and how much it may have in flight; arithmetic on link_arq_t.
 * Time-outs as RFC 6298 (no sample from a packet sent twice, doubled at each time-out, here with a floor and a ceiling for
 * networks inside a cluster). The congestion window, in packets, grows by one per ack below ssthresh, by one per window
 * above, halves at a loss, and starts again at LINK_CWND_MIN after a time-out (RFC 5681).
 * In a header because flow/arq.c asks for each packet. */
#ifndef VBN_LINK_PACE_H
#define VBN_LINK_PACE_H

#include "link/link_private.h"

#define LINK_CWND_MIN 2u
#define LINK_CWND_START 16u
#define LINK_CWND_MAX 1024u
#define LINK_RTO_START_US 100000u
#define LINK_RTO_MIN_US 10000u
#define LINK_RTO_MAX_US 1000000u
#define LINK_BACKOFF_MAX 10u

/* As if nothing had been sent yet. */
static inline void link_pace_start(link_arq_t *arq)
{
    arq->cwnd = LINK_CWND_START;
    arq->ssthresh = LINK_CWND_MAX;
    arq->srtt_us = arq->rttvar_us = 0;
    arq->recovering = false;
}

/* The time-out of now, in microseconds. */
static inline uint32_t link_pace_rto_us(const link_arq_t *arq)
{
    uint64_t rto = arq->srtt_us == 0 ? LINK_RTO_START_US : arq->srtt_us + 4u * (uint64_t)arq->rttvar_us;
    if (rto < LINK_RTO_MIN_US)
        rto = LINK_RTO_MIN_US;
    rto <<= arq->probes < LINK_BACKOFF_MAX ? arq->probes : LINK_BACKOFF_MAX;
    return rto > LINK_RTO_MAX_US ? LINK_RTO_MAX_US : (uint32_t)rto;
}

/* A packet that was sent once was acknowledged after rtt microseconds. */
static inline void link_pace_sample(link_arq_t *arq, uint32_t rtt)
{
    rtt = rtt == 0                ? 1
          : rtt > LINK_RTO_MAX_US ? LINK_RTO_MAX_US
                                  : rtt; /* the peer's program may have computed meanwhile */
    if (arq->srtt_us == 0) {
        arq->srtt_us = rtt;
        arq->rttvar_us = rtt / 2;
        return;
    }
    uint32_t off = rtt > arq->srtt_us ? rtt - arq->srtt_us : arq->srtt_us - rtt;
    arq->rttvar_us += off / 4 - arq->rttvar_us / 4;
    arq->srtt_us += rtt / 8 - arq->srtt_us / 8;
}

/* Packets were lost: half the window, or cwnd if it is not 0; no more until all before tx_next has arrived. */
static inline void link_pace_slow(link_arq_t *arq, uint32_t tx_next, uint32_t cwnd)
{
    arq->ssthresh = arq->cwnd / 2 > LINK_CWND_MIN ? arq->cwnd / 2 : LINK_CWND_MIN;
    arq->cwnd = cwnd != 0 ? cwnd : arq->ssthresh;
    arq->growth = 0;
    arq->recover = tx_next;
    arq->recovering = true;
}

/* All before tx_acked has arrived, of which acked packets are news. */
static inline void link_pace_grow(link_arq_t *arq, uint32_t acked, uint32_t tx_acked)
{
    if (arq->recovering && (int32_t)(tx_acked - arq->recover) >= 0)
        arq->recovering = false;
    if (arq->cwnd < arq->ssthresh) {
        arq->cwnd += acked;
    } else if (!arq->recovering && (arq->growth += acked) >= arq->cwnd) {
        arq->growth -= arq->cwnd;
        arq->cwnd++;
    }
    if (arq->cwnd > LINK_CWND_MAX)
        arq->cwnd = LINK_CWND_MAX;
}

#endif
