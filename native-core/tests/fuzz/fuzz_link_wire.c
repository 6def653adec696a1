/* SPDX-License-Identifier: Apache-2.0
 * fuzz_link_wire.c - the link layer's packet header (first byte 0) and the offers of its handshake. What is accepted
 * must encode to the same bytes again. */
#include "balance.h"
#include "link/link_wire.h"

static void decode_header(const uint8_t *data, size_t size)
{
    link_header_t header;
    uint8_t again[16];
    if (!link_header_decode(data, size, &header))
        return;
    require(size >= sizeof(again));
    link_header_encode(&header, again);
    require(memcmp(again, data, sizeof(again)) == 0);
}

static void decode_offer(const uint8_t *data, size_t size)
{
    link_offer_t offer;
    uint8_t again[LINK_OFFER_BYTES];
    vbn_status_t status = link_offer_decode(data, size, &offer);
    require(status == VBN_OK || status == VBN_ERR_PROTOCOL || status == VBN_ERR_VERSION);
    if (status != VBN_OK)
        return;
    require(offer.uid != 0 && offer.auth <= 1 && offer.window >= 8 && offer.window <= 65536);
    link_offer_encode(&offer, again);
    require(memcmp(again, data, sizeof(again)) == 0);
}

static void run(const uint8_t *data, size_t size)
{
    if (size == 0)
        return;
    if (data[0] == 0)
        decode_header(data + 1, size - 1);
    else
        decode_offer(data + 1, size - 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_balanced(run, data, size, false);
}
