/* SPDX-License-Identifier: Apache-2.0
 * head.h - the first bytes of a large tagged message, sent along with its announcement over shared memory.
 *
 *   sender                                         receiver
 *   TAG_RTS, first bytes                    --->   a receive waits: asks for the rest, then takes them
 *   TAG_MORE, further bytes                 --->   takes these as well, HEAD_MORE times
 *                                           <---   PULL_REST
 *   DATA, the rest                          --->
 *
 * So the question for the data costs no time. Where no receive waits, or the data comes another way, the receiver drops all parts:
 * nobody has to keep bytes for which there is no receive. */
#ifndef VBN_PROTO_HEAD_H
#define VBN_PROTO_HEAD_H

#include "proto/op.h"

#define HEAD_MORE 3u /* parts behind the first one: between far caches the question comes when they are written */
#define HEAD_PAUSE_MOST 63u /* announcements without a head after one whose head was of no use */

/* Sender: sends the announcement of an op that is set up, with a head where that pays. */
vbn_status_t head_announce(proto_op_t *op, const proto_header_t *header);
/* The receiver has taken the first bytes and all that follows them: where the op goes on. False: it did not get so many. */
bool head_skip(proto_op_t *op, uint64_t bytes);
/* The receiver has answered: it took the head, or made no use of it. */
void head_note(proto_op_t *op, bool used);

#endif
