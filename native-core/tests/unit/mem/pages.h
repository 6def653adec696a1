// SPDX-License-Identifier: Apache-2.0
// pages.h - memory that a test maps, unmaps and maps again at the same place.
#ifndef VBN_TEST_PAGES_H
#define VBN_TEST_PAGES_H

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>

constexpr size_t PAGE = 4096;

// Far below where the kernel puts mappings of its own choice. Elsewhere a mapping of another thread (the sanitizers make some
// at any time) would fill what a test has unmapped, and the test would look at it, replace it or unmap it.
inline uint8_t *const APART = reinterpret_cast<uint8_t *>(uintptr_t{1} << 45);

// At a place that was never used before, or at the given one, whatever is there. One thread.
inline uint8_t *map_pages(size_t pages, void *at = nullptr)
{
    static uint8_t *next = APART + 1024 * PAGE;
    int how = at != nullptr ? MAP_FIXED : MAP_FIXED_NOREPLACE;
    if (at == nullptr) {
        at = next;
        next += (pages + 1) * PAGE;
    }
    void *p = mmap(at, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | how, -1, 0);
    if (p != at)
        std::abort();
    return static_cast<uint8_t *>(p);
}

#endif
