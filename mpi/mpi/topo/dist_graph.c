/* SPDX-License-Identifier: Apache-2.0
 * dist_graph.c - distributed graphs: a rank knows its own neighbours only. Edges that other ranks have named come to
 * both of their ends in one exchange. Ranks are not reordered.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "err/err.h"
#include "mpi_impl.h"
#include "topo/topology.h"

/* NULL: no memory left. */
static topo_t *make(int in_count, int out_count, int weighted)
{
    const size_t all = (size_t)in_count + (size_t)out_count;
    topo_t *topo = topo_open(MPI_DIST_GRAPH, 2 * all);
    if (topo == NULL)
        return NULL;
    topo->in_count = in_count;
    topo->out_count = out_count;
    topo->in = topo->room;
    topo->out = topo->in + in_count;
    topo->in_weights = weighted ? topo->room + all : NULL;
    topo->out_weights = weighted ? topo->in_weights + in_count : NULL;
    return topo;
}

static int check_ranks(const int *ranks, int count, int size, const char *name)
{
    if (count < 0 || (count > 0 && ranks == NULL))
        return err_set(MPI_ERR_ARG, "%s is NULL, or its length negative", name);
    for (int i = 0; i < count; i++)
        if (ranks[i] < 0 || ranks[i] >= size)
            return err_set(MPI_ERR_ARG, "%s[%d] is %d, but the ranks of the communicator are 0 to %d", name, i,
                           ranks[i], size - 1);
    return MPI_SUCCESS;
}

static int check_weights(const int *weights, int count, const char *name)
{
    return count > 0 && (weights == NULL || weights == MPI_WEIGHTS_EMPTY)
               ? err_set(MPI_ERR_ARG, "%s is NULL or MPI_WEIGHTS_EMPTY, but there are edges", name)
               : MPI_SUCCESS;
}

static void copy_ints(int *to, const int *from, int count)
{
    if (count > 0)
        memcpy(to, from, (size_t)count * sizeof(int));
}

int mpi_Dist_graph_create_adjacent(MPI_Comm comm_old, int indegree, const int sources[], const int sourceweights[],
                                   int outdegree, const int destinations[], const int destweights[], MPI_Info info,
                                   int reorder, MPI_Comm *comm_dist_graph)
{
    mpi_comm_t *parent = comm_of(comm_old);
    const int size = parent->ranks->size;
    const int weighted = sourceweights != MPI_UNWEIGHTED && destweights != MPI_UNWEIGHTED;
    int rc = check_ranks(sources, indegree, size, "sources");
    (void)info, (void)reorder;
    if (rc == MPI_SUCCESS)
        rc = check_ranks(destinations, outdegree, size, "destinations");
    if (rc == MPI_SUCCESS && weighted)
        rc = check_weights(sourceweights, indegree, "sourceweights");
    if (rc == MPI_SUCCESS && weighted)
        rc = check_weights(destweights, outdegree, "destweights");
    if (rc != MPI_SUCCESS)
        return rc;
    topo_t *topo = make(indegree, outdegree, weighted);
    if (topo != NULL) {
        copy_ints(topo->in, sources, indegree);
        copy_ints(topo->out, destinations, outdegree);
    }
    if (topo != NULL && weighted) {
        copy_ints(topo->in_weights, sourceweights, indegree);
        copy_ints(topo->out_weights, destweights, outdegree);
    }
    return topology_comm(parent, size, topo, comm_dist_graph);
}

/* An edge as one of its ends hears of it. */
typedef struct end {
    int other;
    int weight;
    int leaves;
} end_t;

/* What goes to, or comes from, each rank. */
typedef struct mail {
    size_t *counts;
    size_t *starts;
    end_t *ends;
    size_t total;
} mail_t;

static size_t mail_offset(const grp_blocks_t *blocks, int rank)
{
    return ((const mail_t *)blocks->offsets)->starts[rank] * sizeof(end_t);
}

static size_t mail_length(const grp_blocks_t *blocks, int rank)
{
    return ((const mail_t *)blocks->offsets)->counts[rank] * sizeof(end_t);
}

static size_t count_offset(const grp_blocks_t *blocks, int rank)
{
    (void)blocks;
    return (size_t)rank * sizeof(size_t);
}

static size_t count_length(const grp_blocks_t *blocks, int rank)
{
    (void)blocks, (void)rank;
    return sizeof(size_t);
}

static int mail_open(mail_t *mail, int size)
{
    *mail = (mail_t){.counts = calloc((size_t)size, sizeof(size_t)), .starts = calloc((size_t)size, sizeof(size_t))};
    return mail->counts != NULL && mail->starts != NULL ? 0 : VBN_ERR_NO_MEMORY;
}

/* The counts are known. */
static int mail_lay_out(mail_t *mail, int size)
{
    for (int i = 0; i < size; i++) {
        mail->starts[i] = mail->total;
        mail->total += mail->counts[i];
    }
    mail->ends = calloc(mail->total + 1, sizeof(end_t));
    return mail->ends != NULL ? 0 : VBN_ERR_NO_MEMORY;
}

static void mail_close(mail_t *mail)
{
    free(mail->counts);
    free(mail->starts);
    free(mail->ends);
}

/* What a rank said of edges. */
typedef struct list {
    int n;
    const int *sources;
    const int *degrees;
    const int *destinations;
    const int *weights; /* NULL: none */
} list_t;

static void count_ends(mail_t *mail, const list_t *list)
{
    int edge = 0;
    for (int i = 0; i < list->n; i++)
        for (int k = 0; k < list->degrees[i]; k++, edge++) {
            mail->counts[list->sources[i]]++;
            mail->counts[list->destinations[edge]]++;
        }
}

static void write_ends(mail_t *mail, const list_t *list, size_t *at)
{
    int edge = 0;
    for (int i = 0; i < list->n; i++)
        for (int k = 0; k < list->degrees[i]; k++, edge++) {
            const int source = list->sources[i];
            const int to = list->destinations[edge];
            const int weight = list->weights == NULL ? 0 : list->weights[edge];
            mail->ends[at[source]++] = (end_t){.other = to, .weight = weight, .leaves = 1};
            mail->ends[at[to]++] = (end_t){.other = source, .weight = weight};
        }
}

static int write_mail(mail_t *mail, const list_t *list, int size)
{
    count_ends(mail, list);
    const int rc = mail_lay_out(mail, size);
    size_t *at = rc < 0 ? NULL : malloc((size_t)size * sizeof(*at));
    if (at == NULL)
        return VBN_ERR_NO_MEMORY;
    memcpy(at, mail->starts, (size_t)size * sizeof(*at));
    write_ends(mail, list, at);
    free(at);
    return 0;
}

static int exchange(grp_t *grp, mail_t *out, mail_t *in)
{
    const grp_blocks_t out_counts = {.base = out->counts, .offset = count_offset, .length = count_length};
    const grp_blocks_t in_counts = {.base = in->counts, .offset = count_offset, .length = count_length};
    int rc = grp_alltoall(grp, &out_counts, &in_counts);
    if (rc == 0)
        rc = mail_lay_out(in, grp_size(grp));
    if (rc < 0)
        return rc;
    const grp_blocks_t out_ends = {.base = out->ends, .offset = mail_offset, .length = mail_length, .offsets = out};
    const grp_blocks_t in_ends = {.base = in->ends, .offset = mail_offset, .length = mail_length, .offsets = in};
    return grp_alltoall(grp, &out_ends, &in_ends);
}

static topo_t *of_mail(const mail_t *mail, int weighted)
{
    int leaving = 0;
    for (size_t i = 0; i < mail->total; i++)
        leaving += mail->ends[i].leaves;
    topo_t *topo = make((int)mail->total - leaving, leaving, weighted);
    int in = 0;
    int out = 0;
    for (size_t i = 0; topo != NULL && i < mail->total; i++) {
        const end_t *end = &mail->ends[i];
        const int at = end->leaves ? out++ : in++;
        (end->leaves ? topo->out : topo->in)[at] = end->other;
        if (weighted)
            (end->leaves ? topo->out_weights : topo->in_weights)[at] = end->weight;
    }
    return topo;
}

static int check_list(const list_t *list, int size)
{
    long edges = 0;
    int rc = check_ranks(list->sources, list->n, size, "sources");
    if (rc == MPI_SUCCESS && list->n > 0 && list->degrees == NULL)
        rc = err_set(MPI_ERR_ARG, "degrees is NULL");
    for (int i = 0; rc == MPI_SUCCESS && i < list->n; i++) {
        if (list->degrees[i] < 0)
            return err_set(MPI_ERR_ARG, "degrees[%d] is %d, which is negative", i, list->degrees[i]);
        edges += list->degrees[i];
    }
    if (rc == MPI_SUCCESS && edges > INT_MAX / 4)
        rc = err_set(MPI_ERR_ARG, "%ld edges are too many", edges);
    if (rc == MPI_SUCCESS)
        rc = check_ranks(list->destinations, (int)edges, size, "destinations");
    return rc == MPI_SUCCESS && list->weights != NULL ? check_weights(list->weights, (int)edges, "weights") : rc;
}

int mpi_Dist_graph_create(MPI_Comm comm_old, int n, const int sources[], const int degrees[], const int destinations[],
                          const int weights[], MPI_Info info, int reorder, MPI_Comm *comm_dist_graph)
{
    mpi_comm_t *parent = comm_of(comm_old);
    const int size = parent->ranks->size;
    const int weighted = weights != MPI_UNWEIGHTED;
    const list_t list = {n, sources, degrees, destinations, weighted && weights != MPI_WEIGHTS_EMPTY ? weights : NULL};
    mail_t out = {0};
    mail_t in = {0};
    const int wrong = check_list(&list, size);
    (void)info, (void)reorder;
    if (wrong != MPI_SUCCESS)
        return wrong;
    int rc = mail_open(&out, size);
    if (rc == 0)
        rc = mail_open(&in, size);
    if (rc == 0)
        rc = write_mail(&out, &list, size);
    if (rc == 0)
        rc = exchange(&parent->grp, &out, &in);
    topo_t *topo = rc < 0 ? NULL : of_mail(&in, weighted);
    mail_close(&out);
    mail_close(&in);
    if (rc < 0 && rc != VBN_ERR_NO_MEMORY)
        return err_core((vbn_status_t)rc, "distributed graph", grp_error());
    return topology_comm(parent, size, topo, comm_dist_graph);
}

int mpi_Dist_graph_neighbors_count(MPI_Comm comm, int *indegree, int *outdegree, int *weighted)
{
    topo_t *topo;
    const int rc = topology_of(comm, MPI_DIST_GRAPH, &topo);
    if (rc != MPI_SUCCESS)
        return rc;
    *indegree = topo->in_count;
    *outdegree = topo->out_count;
    *weighted = topo->in_weights != NULL;
    return MPI_SUCCESS;
}

/* As many as there is room for; weights where both sides have them. */
static void copy_neighbors(int most, int count, const int *ranks, const int *weights, int *ranks_out, int *weights_out)
{
    const int n = most < count ? most : count;
    copy_ints(ranks_out, ranks, n);
    if (weights != NULL && weights_out != MPI_UNWEIGHTED && weights_out != MPI_WEIGHTS_EMPTY)
        copy_ints(weights_out, weights, n);
}

int mpi_Dist_graph_neighbors(MPI_Comm comm, int maxindegree, int sources[], int sourceweights[], int maxoutdegree,
                             int destinations[], int destweights[])
{
    topo_t *topo;
    const int rc = topology_of(comm, MPI_DIST_GRAPH, &topo);
    if (rc != MPI_SUCCESS)
        return rc;
    copy_neighbors(maxindegree, topo->in_count, topo->in, topo->in_weights, sources, sourceweights);
    copy_neighbors(maxoutdegree, topo->out_count, topo->out, topo->out_weights, destinations, destweights);
    return MPI_SUCCESS;
}
