/* SPDX-License-Identifier: Apache-2.0
 * exec_value.c - values in answers: small ones are copied, large ones are sent from where they are, and pinned meanwhile. */
#include "server/exec.h"

void exec_value(exec_t *exec, const store_hit_t *hit)
{
    store_pin_t pin;
    if (hit->value_bytes <= COPIED_VALUE_MAX || hit->on_disk) {
        reply_bytes(exec->reply, hit->value, hit->value_bytes);
    } else {
        store_pin(hit, &pin);
        if (!reply_piece(exec->reply, hit->value, hit->value_bytes, pin.shard, pin.extent))
            store_pin_undo(hit); /* no memory: the reply has failed, the connection ends */
    }
}

void exec_piece_done(reply_piece_t *piece)
{
    store_pin_t pin = {.shard = piece->owner[0], .extent = piece->owner[1]};
    store_unpin(&pin);
}

bool exec_piece_stays(reply_piece_t *piece)
{
    store_pin_t pin = {.shard = piece->owner[0], .extent = piece->owner[1]};
    return store_hold(&pin);
}
