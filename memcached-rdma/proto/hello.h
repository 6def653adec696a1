/* SPDX-License-Identifier: Apache-2.0
 * hello.h - the line by which a client asks for messages on the normal port, and its answer: "vbn1 BASE64". Pure.
 *
 *   client   0 u8 version | 1 u8[3] 0 | 4 u32 user id | 8 u32 process id | 12 u32 0
 *   server   0 u8 version | 1 u8 flags | 2 u16 address bytes | 4 u8 page key bytes | 5 u8[3] 0 | 8 u64 instance
 *           16 u32 user id | 20 u32 lease, ms | 24 u64 largest item | 32 address, page key
 *
 * Nothing in it is secret or trusted: the core's handshake proves the key. Fields that are 0 here may get a meaning with
 * another version. */
#ifndef MC_PROTO_HELLO_H
#define MC_PROTO_HELLO_H

#include "proto/request.h"

#define HELLO_WORD "vbn1"
#define HELLO_VERSION 1u
#define HELLO_ADDRESS_MAX 1024u /* as VBN_ADDRESS_MAX */
#define HELLO_KEY_MAX 128u      /* as VBN_KEY_MAX */
#define HELLO_TEXT_MAX 1600u    /* bytes of BASE64, for either side */
#define HELLO_DEVICES 1u        /* flags: the server has RDMA devices open */
#define HELLO_NO_AUTH 2u        /* it runs with verbena_auth=none */

typedef struct hello_client {
    uint32_t user, process;
} hello_client_t;

typedef struct hello_server {
    uint8_t flags; /* HELLO_* */
    uint64_t instance;
    uint32_t user, lease_ms;
    uint64_t item_max;
    size_t address_bytes, key_bytes; /* key_bytes 0: no one-sided reads */
    uint8_t address[HELLO_ADDRESS_MAX], key[HELLO_KEY_MAX];
} hello_server_t;

/* Write BASE64; return its length. */
size_t hello_client_encode(const hello_client_t *hello, char text[HELLO_TEXT_MAX]);
size_t hello_server_encode(const hello_server_t *hello, char text[HELLO_TEXT_MAX]);
/* False: malformed, or of another version. */
bool hello_client_decode(const char *text, size_t length, hello_client_t *hello);
bool hello_server_decode(const char *text, size_t length, hello_server_t *hello);

#endif
