/* SPDX-License-Identifier: Apache-2.0
 * fuzz_address.c - worker addresses as they come from outside. First byte 0: the whole blob, else the part of shm. What
 * is accepted must encode to the same bytes again. */
#include "balance.h"
#include "link/link_address.h"
#include "tl/shm/shm_address.h"
#include "tl/tl.h"

static void decode_worker(const uint8_t *data, size_t size)
{
    link_address_t address;
    uint8_t again[VBN_ADDRESS_MAX];
    size_t length = sizeof(again);
    if (link_address_decode(data, size, &address) != VBN_OK)
        return;
    require(address.uid != 0 && address.section_count <= LINK_ADDRESS_SECTIONS);
    for (unsigned i = 0; i < address.section_count; i++) {
        const link_section_t *section = &address.sections[i];
        require(section->length <= TL_ADDRESS_MAX);
        require(section->bytes >= data && section->bytes + section->length <= data + size);
        const link_section_t *found = link_address_find(&address, section->name);
        require(found != NULL && found <= section);
    }
    if (link_address_encode(&address, again, &length) == VBN_OK)
        require(length == size);
    else
        require(size > VBN_ADDRESS_MAX);
}

static void decode_shm(const uint8_t *data, size_t size)
{
    shm_address_t address;
    uint8_t again[SHM_ADDRESS_FIXED + SHM_NAME_MAX];
    struct sockaddr_un un;
    if (shm_address_decode(data, size, &address) != VBN_OK)
        return;
    require(shm_address_encode(&address, again) == size);
    require((again[1] & 1) == (data[1] & 1) && memcmp(again + 2, data + 2, size - 2) == 0);
    require(shm_address_sockaddr(&address, &un) <= sizeof(un));
}

static void run(const uint8_t *data, size_t size)
{
    if (size == 0)
        return;
    if (data[0] == 0)
        decode_worker(data + 1, size - 1);
    else
        decode_shm(data + 1, size - 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_balanced(run, data, size, false);
}
