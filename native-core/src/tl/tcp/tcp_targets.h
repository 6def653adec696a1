/* SPDX-License-Identifier: Apache-2.0
 * tcp_targets.h - which of a peer's addresses are tried, in which order. Pure functions. */
#ifndef VBN_TL_TCP_TARGETS_H
#define VBN_TL_TCP_TARGETS_H

#include "tl/tcp/tcp_nets.h"

/* Drops addresses that mean somebody else here: loopback and this host's own, unless the peer is in the same network stack
 * (same_stack). Addresses in a network of this host come first, those of its bridges and link-local ones last, else they keep the
 * peer's order. A link-local address is tried on each network that may be meant. own: tcp_nets_list. VBN_ERR_UNREACHABLE when
 * none is left. */
vbn_status_t tcp_targets_sort(const tcp_nets_t *own, bool same_stack, tcp_address_t *targets);

#endif
