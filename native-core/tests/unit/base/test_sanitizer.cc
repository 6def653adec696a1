// SPDX-License-Identifier: Apache-2.0
// test_sanitizer.cc - what AddressSanitizer looks for while the tests run. In a build without it there is nothing here.
#include <gtest/gtest.h>

#ifdef __SANITIZE_ADDRESS__

namespace {

int *volatile kept;

__attribute__((noinline)) void keep_a_local_variable()
{
    int local = 1, *at = &local;
    asm volatile("" : "+r"(at)); /* the compiler knows no more what it points to */
    kept = at;
}

// The core writes to operations that it still has when the test has returned: only this finds it.
TEST(Sanitizer, finds_writes_to_the_stack_of_a_function_that_has_returned)
{
    keep_a_local_variable();
    EXPECT_DEATH(*kept = 2, "stack-use-after-return")
        << "run it by ctest, or with ASAN_OPTIONS=detect_stack_use_after_return=1";
}

} // namespace

#endif
