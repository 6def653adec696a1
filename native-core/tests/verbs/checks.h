/* SPDX-License-Identifier: Apache-2.0
 * checks.h - what the tests over the scripted libibverbs share: a child process with a fabric, and nothing left of it. */
#ifndef VBN_TESTS_VERBS_CHECKS_H
#define VBN_TESTS_VERBS_CHECKS_H

#include <gtest/gtest.h>

#include "../multi/pair.h"
#include "fabric.h"

namespace verbs {

inline void nothing_lives()
{
    const fabric_counts_t &counts = fabric_counts;
    MUST(counts.contexts + counts.pds + counts.mrs + counts.cqs + counts.srqs + counts.qps + counts.ahs +
             counts.groups + counts.cm_ids + counts.cm_channels ==
         0);
    MUST(counts.overruns == 0 && counts.bad_memory == 0);
}

/* Runs body in a child with a fabric of so many devices. */
inline int with_fabric(unsigned devices, const std::function<void()> &body, int seconds = 240)
{
    auto codes = multi::launch(
        1,
        [&](int, multi::Shared &) {
            fabric_install(devices);
            body();
            nothing_lives();
            fabric_remove();
        },
        seconds);
    return codes[0];
}

/* The same, as an assertion. */
inline void in_fabric(unsigned devices, const std::function<void()> &body, int seconds = 240)
{
    ASSERT_EQ(with_fabric(devices, body, seconds), 0);
}

inline bool says(const std::string &text, const char *what)
{
    if (text.find(what) != std::string::npos)
        return true;
    std::fprintf(stderr, "\"%s\" is not in: %s\n", what, text.c_str());
    return false;
}

inline uint64_t counted(const multi::Half &half, const char *name)
{
    vbn_counter_t all[256];
    size_t count = vbn_counters(half.context, all, 256);
    for (size_t i = 0; i < count && i < 256; i++)
        if (std::strcmp(all[i].name, name) == 0)
            return all[i].value;
    MUST(!"a counter of that name");
    return 0;
}

} // namespace verbs
#endif
