/* SPDX-License-Identifier: Apache-2.0
 * side.h - an interface of harness.h that closes with its scope, and whether rings of this host begin small. */
#ifndef VBN_TESTS_TL_SHM_SIDE_H
#define VBN_TESTS_TL_SHM_SIDE_H

#include <sys/mman.h>
#include <unistd.h>

#include <memory>

#include "harness.h"

struct SideCloser {
    void operator()(side_t *side) const { side_close(side); }
};
using Side = std::unique_ptr<side_t, SideCloser>;

/* Else they are whole from the start, and their pages come with use. */
inline bool rings_grow()
{
    constexpr int populate_write = 23; /* MADV_POPULATE_WRITE, since Linux 5.14 */
    return sysconf(_SC_PAGESIZE) <= 4096 && madvise(nullptr, 0, populate_write) == 0;
}

#endif
