// SPDX-License-Identifier: Apache-2.0
// main.cc - main() of all test programs: GoogleTest's, with the cost model pinned.
#include <gtest/gtest.h>

#include "pin.h"

int main(int argc, char **argv)
{
    testing::InitGoogleTest(&argc, argv);
    int failed = pin_models() ? RUN_ALL_TESTS() : 2;
    unpin_models();
    return failed;
}
