/* SPDX-License-Identifier: Apache-2.0
 * room.c - asks before it takes: who allocates more shared memory than the host or a control group has left is killed. */
#include "mem/mem_private.h"

#include "base/os_room.h"

#define MANY 1024u /* so many processes may ask for the same at once without a look at each other */

static vbn_status_t check(const os_room_t *room, size_t bytes)
{
    if (bytes <= room->bytes)
        return VBN_OK;
    return err_set(
        VBN_ERR_NO_MEMORY,
        "wanted %zu bytes of shared memory, %s has %llu left: ask for less, raise that limit, or end other programs "
        "that use memory there",
        bytes, room->bound, (unsigned long long)room->bytes);
}

vbn_status_t mem_room_enter(size_t bytes, int *turn_p)
{
    os_room_t room;
    *turn_p = -1;
    os_room_ask("", &room);
    if (bytes <= room.bytes / MANY)
        return VBN_OK;
    *turn_p = os_room_enter();
    os_room_ask("", &room);
    vbn_status_t status = check(&room, bytes);
    if (status != VBN_OK)
        mem_room_leave(*turn_p);
    return status;
}

uint64_t mem_room(void)
{
    os_room_t room;
    os_room_ask("", &room);
    return room.bytes;
}

vbn_status_t mem_room_explain(vbn_status_t status)
{
    os_room_t room;
    os_room_ask("", &room);
    if (status != VBN_ERR_NO_MEMORY || room.bytes == UINT64_MAX)
        return status;
    return err_add(status, "%s has %llu bytes left", room.bound, (unsigned long long)room.bytes);
}

void mem_room_leave(int turn)
{
    os_room_leave(turn);
}
