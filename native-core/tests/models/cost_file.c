/* SPDX-License-Identifier: Apache-2.0
 * cost_file.c - writes a given cost model as a cost file of this host, for tests that are not programs in C.
 * usage: cost_file near|far|slow PATH   the directory of PATH must be private (mode 0700) */
#include <stdio.h>

#include "pin.h"

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: cost_file near|far|slow PATH\n");
        return 2;
    }
    return write_model(argv[1], argv[2]) ? 0 : 1;
}
