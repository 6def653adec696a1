/* SPDX-License-Identifier: Apache-2.0
 * psets.c - mpi://WORLD: all that the launcher has started; mpi://SELF; verbena://NODE: those of this node, where the launcher
 * says who they are. Scheme and host of a URI know no case (RFC 3986, 6.2.2.1), and these have nothing else.
 */
#include "instance/psets.h"

#include <stdlib.h>
#include <strings.h>

#include "err/err.h"
#include "mpi_impl.h"

static const char *const names[] = {"mpi://WORLD", "mpi://SELF", "verbena://NODE"};
enum { WORLD, SELF, NODE };

int psets_count(void)
{
    return rt.size == 1 || rt.pmi.mapping != NULL ? NODE + 1 : NODE;
}

const char *psets_name(int number)
{
    return names[number];
}

/* NULL: no memory left. */
static rt_group_t *of_node(void)
{
    int *ranks = malloc((size_t)rt.size * sizeof(*ranks));
    int count = 0;
    for (int rank = 0; ranks != NULL && rank < rt.size; rank++)
        if (rank == rt.rank || pmi_node(&rt.pmi, rank) == rt.pmi.node)
            ranks[count++] = rank;
    rt_group_t *group = ranks == NULL ? NULL : rt_group_create(ranks, count);
    free(ranks);
    return group;
}

int psets_find(const char *name, rt_group_t **ranks_p)
{
    int number = 0;
    while (number < psets_count() && (name == NULL || strcasecmp(name, names[number]) != 0))
        number++;
    if (number == psets_count())
        return err_set(MPI_ERR_ARG,
                       "pset_name is %s, which no set of processes has; MPI_Session_get_nth_pset lists them",
                       name == NULL ? "NULL" : name);
    *ranks_p = number == WORLD  ? rt_group_range(0, 1, rt.size)
               : number == SELF ? rt_group_range(rt.rank, 1, 1)
                                : of_node();
    return *ranks_p != NULL ? MPI_SUCCESS : err_set(MPI_ERR_NO_MEM, "%s: no memory left", name);
}
