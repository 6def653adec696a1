/* SPDX-License-Identifier: Apache-2.0
 * translate.c - where symmetric objects lie, as far as the inline way (translate.h) does not know.
 */
#include <dlfcn.h>

#include "shmem/src/entry.h"

int shm_index(int pe)
{
    const unsigned distance = (unsigned)pe - shm.first;
    if (shm.index_of != NULL)
        return shm.index_of[pe];
    return distance < shm.near ? (int)distance : -1;
}

int shm_pe_at(unsigned index)
{
    return shm.own != NULL ? shm.pe : rt_node.ranks[index];
}

shm_page_t *shm_page_of(unsigned index)
{
    return (shm_page_t *)(shm.part + shm.page_at + (((uintptr_t)index - shm.index) << shm.shift));
}

int shm_locate(const void *address, size_t length, int *region_p, size_t *offset_p)
{
    const uintptr_t at = (uintptr_t)address;
    if (at - shm.heap < shm.used && length <= shm.used - (at - shm.heap)) {
        *region_p = SHM_REGION_HEAP;
        *offset_p = at - shm.heap;
        return 1;
    }
    for (int i = 0; i < shm.static_count; i++) {
        const shm_static_t *one = &shm.statics[i];
        if (at - one->start < one->length && length <= one->length - (at - one->start)) {
            *region_p = 1;
            *offset_p = one->offset + (at - one->start);
            return 1;
        }
    }
    return 0;
}

static void not_symmetric(const void *address, size_t length, const char *function)
{
    shm_check_ready(function);
    int region;
    size_t offset;
    if (shm_locate(address, 1, &region, &offset))
        shm_fatal(function, "%zu bytes at %p reach beyond the symmetric %s", length, address,
                  region == SHM_REGION_HEAP ? "heap" : "static data");
    Dl_info object;
    if (shm.static_count > 0 && dladdr(address, &object) != 0)
        shm_fatal(
            function,
            "address %p is not symmetric: it lies in %s; writable data of programs and of their libraries is symmetric, if "
            "they were loaded before shmem_init and are not libraries of the system",
            address, object.dli_fname);
    shm_fatal(
        function,
        "address %p is not symmetric: it lies neither in the symmetric heap (shmem_malloc) nor in static data of the "
        "program%s",
        address, shm.static_count == 0 ? ", which cannot be shared here" : "");
}

void *shm_find_near(const void *address, size_t length, int pe, const char *function)
{
    int region;
    size_t offset;
    shm_check_ready(function);
    if (pe < 0 || pe >= shm.pes)
        shm_fatal(function, "argument pe is %d, but the PEs are 0 to %d", pe, shm.pes - 1);
    if (!shm_locate(address, length, &region, &offset))
        not_symmetric(address, length, function);
    const int index = shm_index(pe);
    if (index < 0)
        return NULL;
    const size_t at = region == SHM_REGION_HEAP ? shm.heap_at : shm.statics_at;
    return (void *)(shm.part + at + offset + (((uintptr_t)(unsigned)index - shm.index) << shm.shift));
}

int shm_pe_accessible(int pe, const char *function)
{
    shm_check_ready(function);
    return pe >= 0 && pe < shm.pes;
}

int shm_addr_accessible(const void *address, int pe, const char *function)
{
    int region;
    size_t offset;
    shm_check_ready(function);
    return pe >= 0 && pe < shm.pes && shm_locate(address, 1, &region, &offset);
}

void *shm_ptr(const void *address, int pe, const char *function)
{
    int region;
    size_t offset;
    shm_check_ready(function);
    if (pe < 0 || pe >= shm.pes)
        shm_fatal(function, "argument pe is %d, but the PEs are 0 to %d", pe, shm.pes - 1);
    if (!shm_locate(address, 1, &region, &offset))
        return NULL;
    if (pe == shm.pe)
        return (void *)(uintptr_t)address;
    return shm_find_near(address, 1, pe, function);
}
