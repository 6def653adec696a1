/* SPDX-License-Identifier: Apache-2.0
 * side.h - an interface of harness.h that closes with its scope. */
#ifndef VBN_TESTS_TL_SHM_SIDE_H
#define VBN_TESTS_TL_SHM_SIDE_H

#include <memory>

#include "harness.h"

struct SideCloser {
    void operator()(side_t *side) const { side_close(side); }
};
using Side = std::unique_ptr<side_t, SideCloser>;

#endif
