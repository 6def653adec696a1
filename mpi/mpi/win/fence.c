/* SPDX-License-Identifier: Apache-2.0
 * fence.c - active target synchronisation of all ranks (MPI 5.0, 12.5.1): calls have ended everywhere before any rank goes on,
 * so no access after a fence meets loads and stores before it.
 */
#include "coll/coll.h"
#include "err/err.h"
#include "mpi_impl.h"
#include "win/epoch.h"
#include "win/flush.h"

#define ASSERTS (MPI_MODE_NOSTORE | MPI_MODE_NOPUT | MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED)

int mpi_Win_fence(int assert, MPI_Win win)
{
    mpi_win_t *found = win_of(win);
    if ((assert & ~ASSERTS) != 0)
        return err_set(MPI_ERR_ASSERT, "assert is 0x%x; a fence knows NOSTORE, NOPUT, NOPRECEDE and NOSUCCEED",
                       (unsigned)assert);
    if (found->post != NULL)
        return err_set(MPI_ERR_RMA_SYNC, "a fence while an epoch of exposure is open: MPI_Win_wait comes first");
    if (found->epoch != WIN_NO_EPOCH && found->epoch != WIN_FENCE)
        return win_epoch_check_begin(found, "a fence");
    const int rc = win_flush_all(found, 1);
    coll_enter(comm_handle(found->comm), "MPI_Win_fence");
    const int status = grp_barrier(&found->comm->grp);
    coll_leave(comm_handle(found->comm));
    found->epoch = (assert &MPI_MODE_NOSUCCEED) != 0 ? WIN_NO_EPOCH : WIN_FENCE;
    found->used = 0;
    if (rc != MPI_SUCCESS)
        return rc;
    return status < 0 ? err_core((vbn_status_t)status, "MPI_Win_fence", grp_error()) : MPI_SUCCESS;
}
