/* SPDX-License-Identifier: Apache-2.0
 * timeout.c - a lane breaks when its wire-up has not ended within link.wireup_timeout. */
#include "link/lane/lane.h"

#include <stdio.h>

static const char *waiting_for(const link_lane_t *lane)
{
    switch ((link_lane_state_t)lane->state) {
    case LANE_WAIT_HELLO: return "the peer's HELLO";
    case LANE_WAIT_CHALLENGE: return "the peer's answer to HELLO";
    case LANE_WAIT_PROOF: return "the peer's proof of the job key";
    case LANE_WAIT_WELCOME: return "the peer's answer to our proof of the job key";
    case LANE_WAIT_AGAIN: return "the next try";
    case LANE_WAIT_OTHER: return "the connection that the peer opens to this side";
    case LANE_REJECTED: return "room to send a refusal";
    case LANE_LINGERS: return "nothing";
    case LANE_PROVED: break;
    }
    return "the transport to become ready";
}

/* While the program is away it answers no packet of the handshake, so such time says nothing of the peer: once, the time-out
 * begins again. */
static bool extend(link_lane_t *lane)
{
    link_handshake_t *hs = lane->hs;
    if (hs->extended || lane->engine->away_ns == hs->away_before)
        return false;
    hs->extended = true;
    link_timer_add(lane->engine, &hs->timer,
                   hs->resumes ? link_resume_part(lane->engine) : lane->engine->params.settings->link_wireup_timeout);
    return true;
}

void link_wireup_expired(wheel_timer_t *timer)
{
    link_lane_t *lane = container_of(timer, link_handshake_t, timer)->lane;
    char text[512];
    if (extend(lane))
        return;
    const char *before = lane->hs->redials > 0 && lane->peer != NULL ? link_lost_text(lane->peer, NULL) : NULL;
    snprintf(text, sizeof(text), "no connection over %s within link.wireup_timeout=%llums, waiting for %s%s%s",
             link_lane_name(lane), (unsigned long long)(lane->engine->params.settings->link_wireup_timeout / 1000000u),
             waiting_for(lane), before != NULL ? "; the attempt before: " : "", before != NULL ? before : "");
    link_lane_broke(lane, VBN_ERR_TIMEOUT, text);
}
