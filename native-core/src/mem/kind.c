/* SPDX-License-Identifier: Apache-2.0
 * kind.c - the table of memory kinds, and the host's entry. */
#include "mem/kind.h"

#include <string.h>

#include "base/os_watch.h"

static vbn_status_t host_detect(uintptr_t address, mem_kind_info_t *info_p)
{
    os_mapping_t mapping;
    vbn_status_t status = os_mapping_at(address, &mapping);
    if (status == VBN_OK)
        *info_p = (mem_kind_info_t){.kind = MEM_KIND_HOST, .start = mapping.start, .end = mapping.end};
    return status;
}

static vbn_status_t host_prepare(uintptr_t start, uintptr_t end, unsigned access)
{
    return os_populate(start, end, (access & VBN_ACCESS_WRITE) != 0);
}

static vbn_status_t host_copy(void *to, const void *from, size_t bytes, mem_kind_event_t *event_p)
{
    memcpy(to, from, bytes);
    *event_p = (mem_kind_event_t){{0}};
    return VBN_OK;
}

static vbn_status_t host_copy_test(mem_kind_event_t *event)
{
    (void)event;
    return VBN_OK;
}

static const mem_kind_ops_t kinds[MEM_KIND_COUNT] = {
    [MEM_KIND_HOST] = {.name = "host",
                       .detect = host_detect,
                       .prepare = host_prepare,
                       .copy = host_copy,
                       .copy_test = host_copy_test},
};

const mem_kind_ops_t *mem_kind_ops(mem_kind_t kind)
{
    return &kinds[kind];
}

vbn_status_t mem_kind_detect(uintptr_t address, mem_kind_info_t *info_p)
{
    vbn_status_t status = VBN_ERR_RANGE;
    for (int kind = MEM_KIND_COUNT - 1; kind >= 0 && status == VBN_ERR_RANGE; kind--) /* devices before the host */
        status = kinds[kind].detect(address, info_p);
    return status;
}
