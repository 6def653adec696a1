/* SPDX-License-Identifier: Apache-2.0
 * jni_page.h - layout of the page that a Java engine shares with its worker; drawn in Page.java. The one place
 * of its numbers: tools/gen_page.py makes PageLayout.java out of this file.
 *
 * Only the engine's thread reads and writes it (natives run on that thread), so nothing is atomic. The commands are
 * still checked before use: a stale handle or a bad length is an error, never a crash. */
#ifndef VBN_JNI_PAGE_H
#define VBN_JNI_PAGE_H

#include <stdint.h>

#define PAGE_VERSION 1
#define PAGE_SLOT 64u

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the shared page is little endian"
#endif

typedef struct page_control {
    uint32_t head; /* commands taken; ours */
    uint32_t tail; /* commands written; Java's */
    uint8_t unused[56];
} page_control_t;

typedef enum page_kind {
    PAGE_NOP = 0, /* skip to the start of the ring */
    PAGE_SEND,
    PAGE_PULL,
    PAGE_DROP,
    PAGE_GET,
    PAGE_PUT,
    PAGE_FLUSH,
    PAGE_PEER_CLOSE,
    PAGE_KEY_RELEASE,
    PAGE_SEND_RENDEZVOUS /* as PAGE_SEND, but also small data waits at the sender until it is pulled */
} page_kind_t;

/* Followed by slots with the header, then slots with {address, length} pairs when parts > 1. */
typedef struct page_command {
    uint8_t kind;
    uint8_t id;
    uint16_t header_bytes;
    uint32_t parts;
    uint64_t token; /* 0: no completion wanted */
    uint64_t handle;
    uint64_t offset;
    uint64_t address; /* of the only part */
    uint64_t length;
    uint64_t unused[2];
} page_command_t;

typedef struct page_part {
    uint64_t address;
    uint64_t length;
} page_part_t;

typedef enum page_event_kind { EVENT_OP = 1, EVENT_MESSAGE, EVENT_PEER_LOST, EVENT_LOG } page_event_kind_t;

typedef struct page_event {
    uint32_t kind;
    int32_t status;
    uint64_t token; /* operation's; message: id */
    uint64_t length;
    uint64_t peer;
    uint64_t remote;
    uint32_t receive_offset; /* of header and data, or of the error text, in the receive area */
    uint32_t header_bytes;   /* or length of the error text */
    uint64_t unused;
    uint64_t uid;
} page_event_t;

_Static_assert(sizeof(page_control_t) == PAGE_SLOT, "control is one slot");
_Static_assert(sizeof(page_command_t) == PAGE_SLOT, "a command is one slot");
_Static_assert(sizeof(page_event_t) == PAGE_SLOT, "a completion is one slot");

#endif
