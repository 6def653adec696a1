/* SPDX-License-Identifier: Apache-2.0
 * reduce.c - collectives that compute: reduce, allreduce, scan, exscan.
 */
#include "coll/coll.h"
#include "err/err.h"
#include "mpi_impl.h"

int coll_Allreduce(coll_t *coll, const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                   MPI_Comm comm)
{
    coll_values_t values;
    void *place;
    int rc = coll_values(coll, &values, op, count, datatype);
    (void)comm;
    if (rc == MPI_SUCCESS)
        rc = coll_values_at(&values, recvbuf, "recvbuf");
    if (rc == MPI_SUCCESS)
        rc = coll_values_take(coll, &values, sendbuf == MPI_IN_PLACE ? recvbuf : sendbuf, recvbuf, &place);
    if (rc != MPI_SUCCESS)
        return rc;
    steps_allreduce(coll->sched, place, values.n, values.reduce);
    coll_values_give(coll, &values, place, recvbuf);
    return MPI_SUCCESS;
}

int coll_Reduce(coll_t *coll, const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                int root, MPI_Comm comm)
{
    const int is_root = coll_is_root(coll, root);
    coll_values_t values;
    void *place;
    int rc = coll_values(coll, &values, op, count, datatype);
    (void)comm;
    if (rc == MPI_SUCCESS && !is_root && sendbuf == MPI_IN_PLACE)
        rc = err_set(MPI_ERR_BUFFER, "sendbuf is MPI_IN_PLACE at a rank that is not the root");
    if (rc == MPI_SUCCESS && is_root)
        rc = coll_values_at(&values, recvbuf, "recvbuf");
    if (rc == MPI_SUCCESS)
        rc = coll_values_take(coll, &values, sendbuf == MPI_IN_PLACE ? recvbuf : sendbuf, is_root ? recvbuf : NULL,
                              &place);
    if (rc != MPI_SUCCESS)
        return rc;
    steps_reduce(coll->sched, place, values.n, values.reduce, root);
    if (is_root)
        coll_values_give(coll, &values, place, recvbuf);
    return MPI_SUCCESS;
}

static int scan(coll_t *coll, const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                int exclusive)
{
    const void *from = sendbuf == MPI_IN_PLACE ? recvbuf : sendbuf;
    coll_values_t values;
    void *mine = NULL;
    void *result = recvbuf;
    const int has_result = !exclusive || sched_rank(coll->sched) > 0;
    int rc = coll_values(coll, &values, op, count, datatype);
    if (rc == MPI_SUCCESS)
        rc = coll_values_at(&values, from, "the buffer with a rank's own elements");
    if (rc == MPI_SUCCESS && has_result)
        rc = coll_values_at(&values, recvbuf, "recvbuf");
    if (rc == MPI_SUCCESS && !values.dense)
        rc = coll_values_take(coll, &values, from, NULL, &mine);
    if (rc == MPI_SUCCESS)
        rc = coll_values_room(coll, &values, recvbuf, &result);
    if (rc != MPI_SUCCESS)
        return rc;
    steps_scan(coll->sched, values.dense ? from : mine, result, values.n, values.reduce, exclusive);
    if (has_result)
        coll_values_give(coll, &values, result, recvbuf);
    return MPI_SUCCESS;
}

int coll_Scan(coll_t *coll, const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
              MPI_Comm comm)
{
    (void)comm;
    return scan(coll, sendbuf, recvbuf, count, datatype, op, 0);
}

int coll_Exscan(coll_t *coll, const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                MPI_Comm comm)
{
    (void)comm;
    return scan(coll, sendbuf, recvbuf, count, datatype, op, 1);
}
