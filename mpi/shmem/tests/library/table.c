/* SPDX-License-Identifier: Apache-2.0
 * table.c - a library of a program, with static data that other PEs write to.
 */
#include "table.h"

long table_count = 3;
static long entries[5000];

long *table_entries(void)
{
    return entries;
}
