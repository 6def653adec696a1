/* SPDX-License-Identifier: Apache-2.0
 * peer.h - functions of the room peer, for itself and for link_engine.c. */
#ifndef VBN_LINK_PEER_H
#define VBN_LINK_PEER_H

#include "link/flow/flow.h"

/* ---------------------------------------------------------------------------------------------- peer.c */

void link_peer_take_end(vbn_peer_t *peer, vbn_status_t status, const char *text, bool counted); /* link_peer_end */
/* Asked of a peer that ends now: its process writes into memory of operations here. Then link_peer_end only makes it
 * ENDING, and it ends in the progress that finds this over (after a second at most). */
bool link_still_copied(const vbn_peer_t *peer);
void link_peer_kill(vbn_peer_t *peer); /* a peer that nobody has seen: no upcalls */
void link_peer_reap(link_engine_t *engine);

/* -------------------------------------------------------------------------------------------- import.c */

void link_peer_run_imports(vbn_peer_t *peer);                         /* READY: starts the imports that waited */
void link_peer_finish_imports(vbn_peer_t *peer, vbn_status_t status); /* those that waited end */

/* -------------------------------------------------------------------------------------------- events.c */

extern const link_events_t LINK_EVENTS;

/* --------------------------------------------------------------------------------------------- close.c */

/* The worker is destroyed: sends CLOSE to a peer that was closed gracefully before and has been sent everything. Best effort. */
void link_close_announced(vbn_peer_t *peer);
unsigned link_close_progress(link_engine_t *engine, bool happened); /* happened: a new round over the closing peers */

#endif
