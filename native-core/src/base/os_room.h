/* SPDX-License-Identifier: Apache-2.0
 * os_room.h - how much memory the kernel can still give this process before it kills somebody: of the host, and of the control
 * groups (versions 1 and 2) that the process is in. Anonymous shared memory has no other limit. Any thread. */
#ifndef VBN_BASE_OS_ROOM_H
#define VBN_BASE_OS_ROOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OS_ROOM_BOUND 512u

typedef struct os_room {
    uint64_t bytes;            /* UINT64_MAX: nobody says */
    char bound[OS_ROOM_BOUND]; /* whose limit this is: "the host", or a group with its file and limit */
} os_room_t;

/* The least of MemAvailable and of what the own group and those above it have left. What the kernel can drop of the page cache
 * counts as left; a 64th of a group's limit, at most 16 MiB, does not: page tables need it. root: "", or a folder with proc and
 * sys of another host (tests). */
void os_room_ask(const char *root, os_room_t *room);

/* Who looks and then allocates does so alone among the processes that see the same /proc, or several would each find room for
 * themselves and overrun it together. Waits for others of the same user for 10 s at most; anybody may hold the lock, so who is of
 * another user is not waited for. The descriptor for os_room_leave, which takes -1, too. */
int os_room_enter(void);
void os_room_leave(int fd);
/* A process of another user holds the lock of os_room_enter, which fd is open for. False, too, when nobody says who does. */
bool os_room_is_foreign(int fd);

#endif
