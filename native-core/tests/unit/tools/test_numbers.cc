// SPDX-License-Identifier: Apache-2.0
// test_numbers.cc - what vbn-perf reads of perftest's tables.
#include <gtest/gtest.h>

#include <cstring>

extern "C" {
#include "../../../tools/vbn_perf/numbers.h"
}

namespace {

double last(const char *text, int columns, int wanted)
{
    FILE *in = fmemopen(const_cast<char *>(text), std::strlen(text), "r");
    EXPECT_NE(in, nullptr);
    double found = in != nullptr ? numbers_last(in, columns, wanted) : 0;
    if (in != nullptr)
        (void)fclose(in);
    return found;
}

TEST(Numbers, the_last_line_that_has_all_columns_counts)
{
    const char *text = " RDMA_Send Latency Test\n"
                       " local address: LID 0000 QPN 0x0011 PSN 0xd47f71\n"
                       " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]\n"
                       " 8       1000          1.10           9.90         1.50               2.50\n"
                       " 8       1000          1.20           9.80         1.60               2.25\n"
                       " 8       1000\n";
    EXPECT_DOUBLE_EQ(last(text, 6, 5), 2.25);
    EXPECT_DOUBLE_EQ(last(text, 6, 4), 1.6);
}

TEST(Numbers, what_is_no_measurement_is_none)
{
    EXPECT_EQ(last("", 6, 5), -1);
    EXPECT_EQ(last("Couldn't connect to 127.0.0.1:18515\n", 6, 5), -1);
    EXPECT_EQ(last(" 8 1000 inf inf inf inf\n", 6, 5), -1);
    EXPECT_EQ(last(" 8 1000 1 2 3 -nan\n", 6, 5), -1);
    EXPECT_EQ(last(" 8 1000 1 2 3 0.00\n", 6, 5), -1);
    EXPECT_EQ(last(" 8 1000 1 2 3 4.5\n 8 1000 1 2 3 inf\n", 6, 5), -1); /* the measurement is the last one */
    EXPECT_DOUBLE_EQ(last(" 8 1000 inf inf inf 4.5\n", 6, 5), 4.5);
}

} // namespace
