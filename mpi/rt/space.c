/* SPDX-License-Identifier: Apache-2.0
 * space.c - the names in the launcher's key-value space, where a name is put once: each opening of the runtime has its own.
 */
#include "rt/rt.h"

#include <stdio.h>

void rt_key_name(char *name, size_t capacity, const char *what, int rank)
{
    const int length = snprintf(name, capacity, "%s%d", what, rank);
    if (rt.opened > 0)
        snprintf(name + length, capacity - (size_t)length, ".%d", rt.opened);
}
