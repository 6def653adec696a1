/* SPDX-License-Identifier: Apache-2.0
 * link_address.c - encodes and decodes worker addresses. */
#include "link/link_address.h"

#include <string.h>

#include "base/endian.h"
#include "tl/tl.h"

#define ADDRESS_MAGIC 0x414e4256u /* "VBNA" */
#define HEAD_BYTES 24
#define SECTION_HEAD_BYTES (LINK_TRANSPORT_NAME + 2)

static size_t encoded_bytes(const link_address_t *address)
{
    size_t bytes = HEAD_BYTES;
    for (unsigned i = 0; i < address->section_count; i++)
        bytes += SECTION_HEAD_BYTES + address->sections[i].length;
    return bytes;
}

vbn_status_t link_address_encode(const link_address_t *address, void *blob, size_t *length_p)
{
    uint8_t *out = blob;
    size_t bytes = encoded_bytes(address);
    if (bytes > *length_p || bytes > VBN_ADDRESS_MAX)
        return err_set(VBN_ERR_LIMIT, "a worker address takes %zu bytes, the buffer has %zu; give VBN_ADDRESS_MAX (%d)",
                       bytes, *length_p, VBN_ADDRESS_MAX);
    le_put_u32(out, ADDRESS_MAGIC);
    out[4] = LINK_ADDRESS_VERSION;
    out[5] = (uint8_t)address->section_count;
    le_put_u16(out + 6, (uint16_t)bytes);
    le_put_u64(out + 8, address->uid);
    le_put_u64(out + 16, address->host_id);
    out += HEAD_BYTES;
    for (unsigned i = 0; i < address->section_count; i++) {
        const link_section_t *section = &address->sections[i];
        memset(out, 0, LINK_TRANSPORT_NAME);
        memcpy(out, section->name, strnlen(section->name, LINK_TRANSPORT_NAME));
        le_put_u16(out + LINK_TRANSPORT_NAME, (uint16_t)section->length);
        memcpy(out + SECTION_HEAD_BYTES, section->bytes, section->length);
        out += SECTION_HEAD_BYTES + section->length;
    }
    *length_p = bytes;
    return VBN_OK;
}

static vbn_status_t decode_head(const uint8_t *in, size_t length, link_address_t *address)
{
    if (length < HEAD_BYTES || le_get_u32(in) != ADDRESS_MAGIC)
        return err_set(VBN_ERR_PROTOCOL, "%zu bytes are not a worker address (see vbn_worker_address)", length);
    if (in[4] != LINK_ADDRESS_VERSION)
        return err_set(VBN_ERR_VERSION, "worker address has version %u, this side reads %u", (unsigned)in[4],
                       (unsigned)LINK_ADDRESS_VERSION);
    address->section_count = in[5];
    address->uid = le_get_u64(in + 8);
    address->host_id = le_get_u64(in + 16);
    if (le_get_u16(in + 6) != length || address->section_count > LINK_ADDRESS_SECTIONS || address->uid == 0)
        return err_set(VBN_ERR_PROTOCOL,
                       "worker address is damaged: its header says %u bytes, %zu are given, %u sections",
                       (unsigned)le_get_u16(in + 6), length, address->section_count);
    return VBN_OK;
}

vbn_status_t link_address_decode(const void *blob, size_t length, link_address_t *address)
{
    const uint8_t *in = blob;
    memset(address, 0, sizeof(*address));
    vbn_status_t status = decode_head(in, length, address);
    if (status < 0)
        return status;
    size_t at = HEAD_BYTES;
    for (unsigned i = 0; i < address->section_count; i++) {
        link_section_t *section = &address->sections[i];
        if (length - at < SECTION_HEAD_BYTES)
            return err_set(VBN_ERR_PROTOCOL, "worker address ends within section %u", i);
        memcpy(section->name, in + at, LINK_TRANSPORT_NAME);
        section->length = le_get_u16(in + at + LINK_TRANSPORT_NAME);
        at += SECTION_HEAD_BYTES;
        if (section->length > length - at || section->length > TL_ADDRESS_MAX)
            return err_set(VBN_ERR_PROTOCOL, "section %u of a worker address has a bad length %zu", i, section->length);
        section->bytes = in + at;
        at += section->length;
    }
    if (at != length)
        return err_set(VBN_ERR_PROTOCOL, "worker address has %zu bytes too many", length - at);
    return VBN_OK;
}

const link_section_t *link_address_find(const link_address_t *address, const char *name)
{
    for (unsigned i = 0; i < address->section_count; i++)
        if (strcmp(address->sections[i].name, name) == 0)
            return &address->sections[i];
    return NULL;
}
