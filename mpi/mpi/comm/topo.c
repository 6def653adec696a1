/* SPDX-License-Identifier: Apache-2.0
 * topo.c - the life of topologies.
 */
#include "comm/topo.h"

#include <stdlib.h>

topo_t *topo_open(int kind, size_t ints)
{
    topo_t *topo = ints > SIZE_MAX / 2 / sizeof(int) ? NULL : calloc(1, sizeof(*topo) + ints * sizeof(int));
    if (topo == NULL)
        return NULL;
    topo->refs = 1;
    topo->kind = kind;
    return topo;
}

void topo_release(topo_t *topo)
{
    if (topo != NULL && --topo->refs == 0)
        free(topo);
}
