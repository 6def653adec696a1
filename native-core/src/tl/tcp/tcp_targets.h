/* SPDX-License-Identifier: Apache-2.0
 * tcp_targets.h - which of a peer's addresses are tried, in which order. Pure functions. */
#ifndef VBN_TL_TCP_TARGETS_H
#define VBN_TL_TCP_TARGETS_H

#include "tl/tcp/tcp_nets.h"

/* Addresses in a network of this host come first, then others in the peer's order, then those in networks of its bridges, then
 * link-local ones, each on all links that may be meant. Where the peer is not known to be in the same network stack (same_stack),
 * loopback is dropped, and addresses that this host has, too, come last: bridges of containers are alike everywhere. own:
 * tcp_nets_list. VBN_ERR_UNREACHABLE when none is left. */
vbn_status_t tcp_targets_sort(const tcp_nets_t *own, bool same_stack, tcp_address_t *targets);

#endif
