/* SPDX-License-Identifier: Apache-2.0
 * head.h - the first bytes of a large tagged message, sent along with its announcement over shared memory. A receive that waits
 * takes them while the sender already streams the rest, so the question for the data costs no time. Where no receive waits, or
 * the data comes another way, the receiver drops them: nobody has to keep bytes for which there is no receive. */
#ifndef VBN_PROTO_HEAD_H
#define VBN_PROTO_HEAD_H

#include "proto/op.h"

#define HEAD_PAUSE_MOST 63u /* announcements without a head after one whose head was of no use */

/* Sends the announcement of an op that is set up, with a head where that pays. */
vbn_status_t head_announce(proto_op_t *op, const proto_header_t *header);
/* The receiver has answered: it took the head, or made no use of it. */
void head_note(proto_op_t *op, bool used);

#endif
