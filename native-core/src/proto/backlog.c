/* SPDX-License-Identifier: Apache-2.0
 * backlog.c - how much is queued towards a peer, and a user who is told when that has become little.
 *
 * Counted are the operations that send data, with their whole length: messages that wait for the link or for the peer, and puts,
 * until they end; and small messages that were gathered, until the link has let go of the copy. What passes at once is never
 * counted, so messages that go straight into a ring or socket pay nothing.
 *
 * The user is told from progress only: the mark is a stream in engine->active meanwhile. B1 it is in that list exactly while
 * queued <= bytes and above. B2 it goes with vbn_disconnect and with the peer, untold. */
#include <stdlib.h>

#include "proto/backlog.h"

uint64_t proto_queued(const vbn_peer_t *peer)
{
    return peer == NULL ? 0 : proto_peer_of(peer)->queued;
}

void backlog_crossed(proto_peer_t *p)
{
    proto_low_mark_t *low = p->low;
    list_remove(&low->stream.active);
    if (p->queued > low->bytes)
        low->above = true;
    else if (low->above)
        list_append(&low->stream.engine->active, &low->stream.active);
}

void backlog_tell(proto_stream_t *s)
{
    proto_low_mark_t *low = container_of(s, proto_low_mark_t, stream);
    low->above = false;
    low->func(low->arg, s->peer, proto_peer_of(s->peer)->queued); /* last: it may end the mark */
}

static void end(proto_peer_t *p)
{
    if (p->low == NULL)
        return;
    list_remove(&p->low->stream.active);
    free(p->low);
    p->low = NULL;
}

/* What was queued ends without a word to the mark. */
void backlog_peer_down(proto_peer_t *p)
{
    end(p);
    p->queued = 0;
}

vbn_status_t proto_set_low_mark(vbn_peer_t *peer, uint64_t bytes, vbn_low_mark_func_t func, void *arg)
{
    vbn_status_t status = proto_check_peer(peer);
    if (status != VBN_OK)
        return status;
    proto_peer_t *p = proto_peer_of(peer);
    end(p);
    if (func == NULL)
        return VBN_OK;
    proto_low_mark_t *low = calloc(1, sizeof(*low));
    if (low == NULL)
        return err_set(VBN_ERR_NO_MEMORY, "no heap for the mark of a peer's queue");
    stream_init(&low->stream, proto_engine_of(peer), peer, STREAM_LOW_MARK);
    low->bytes = bytes;
    low->func = func;
    low->arg = arg;
    low->above = p->queued > bytes;
    p->low = low;
    return VBN_OK;
}

void proto_forget_low_mark(const vbn_peer_t *peer)
{
    if (!proto_forked(proto_engine_of(peer)))
        end(proto_peer_of(peer));
}
