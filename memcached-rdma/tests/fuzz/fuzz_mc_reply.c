/* SPDX-License-Identifier: Apache-2.0
 * fuzz_mc_reply.c - answers sent in portions of any size: the bytes are those that were added, in their order, and every
 * piece is given back once. The input is a script: what is added, when something is sent, when pieces are copied. */
#include "fuzz.h"
#include "proto/reply.h"

#define STEPS 400u
#define IOV 5

static char sink[1 << 20];
static size_t sunk;
static unsigned given, back;

static void done(reply_piece_t *piece)
{
    require(piece->owner[0] == &given);
    back++;
}

static void send_some(reply_t *reply, size_t most)
{
    struct iovec iov[IOV];
    size_t sent = 0;
    int count = reply_iov(reply, iov, IOV);
    require(count <= IOV && (count > 0) == (reply->pending > 0));
    for (int i = 0; i < count && sent < most; i++) {
        size_t step = iov[i].iov_len < most - sent ? iov[i].iov_len : most - sent;
        memcpy(sink + sunk, iov[i].iov_base, step);
        sunk += step;
        sent += step;
    }
    if (sent > 0)
        reply_sent(reply, sent, done);
}

static bool stays(reply_piece_t *piece)
{
    return piece->length % 2 == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char expected[1 << 20], piece[4096];
    script_t script = {.at = data, .left = size};
    reply_t reply = {0};
    size_t wanted = 0;
    sunk = 0;
    given = back = 0;
    for (unsigned i = 0; i < STEPS && script.left > 0; i++) {
        uint8_t what = script_u8(&script);
        size_t length = script_u16(&script) % sizeof(piece) + 1;
        memset(piece, 'a' + (int)(i % 26), length);
        if (wanted + length > sizeof(expected) / 2)
            break;
        switch (what % 5) {
        case 0:
            memset(expected + wanted, 'a' + (int)(i % 26), length);
            reply_bytes(&reply, piece, length);
            wanted += length;
            break;
        case 1:
            memcpy(expected + wanted, "constant bytes", 14);
            require(reply_piece(&reply, "constant bytes", 14, &given, NULL));
            given++;
            wanted += 14;
            break;
        case 2: send_some(&reply, length); break;
        case 3: reply_own(&reply, stays, done); break;
        default: reply_own(&reply, NULL, done);
        }
        require(reply.pending == wanted - sunk);
    }
    while (reply.pending > 0)
        send_some(&reply, 1 + size);
    require(sunk == wanted && memcmp(sink, expected, wanted) == 0 && given == back);
    reply_free(&reply);
    return 0;
}
