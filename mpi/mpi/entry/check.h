/* SPDX-License-Identifier: Apache-2.0
 * check.h - the checks that the generated entry points make of their arguments. Each is MPI_SUCCESS, or an error
 * class with a text that names argument, value and what is allowed. And what int forms need to call large ones.
 */
#ifndef VERBENA_MPI_CHECK_H
#define VERBENA_MPI_CHECK_H

#include "coll/coll.h"
#include "comm/topo.h"
#include "dt/contents.h"
#include "dt/dt.h"
#include "err/err.h"
#include "rt/threads.h"
#include "win/win.h"

#define CHECK_LIKELY(condition) __builtin_expect(!!(condition), 1)

/* The unlikely halves, with their texts. A session is enough to be ready. */
int check_not_ready(void);
int check_bad_comm(MPI_Comm comm, const char *name);
int check_bad_session(const char *name);
int check_bad_count(MPI_Count count, const char *name);
int check_bad_datatype(MPI_Datatype type, const char *name);
int check_bad_win(const char *name);
int check_bad_rank(int class, int rank, int size, const char *name);
int check_bad_tag(int tag, const char *name);
int check_bad_op(const char *name);
int check_null(const char *name);
int check_is_inter(const char *name);
int check_is_inter_so_far(const char *name);

static inline int check_ready(void)
{
    return CHECK_LIKELY(obj_state == OBJ_READY) ? MPI_SUCCESS : check_not_ready();
}

/* MPI_COMM_WORLD and MPI_COMM_SELF belong to the world model. */
static inline int check_comm(MPI_Comm comm, const char *name)
{
    return CHECK_LIKELY(comm_of(comm) != NULL && (obj_state == OBJ_READY || !obj_is_predefined(comm)))
               ? MPI_SUCCESS
               : check_bad_comm(comm, name);
}

static inline int check_session(MPI_Session session, const char *name)
{
    return CHECK_LIKELY(session_of(session) != NULL) ? MPI_SUCCESS : check_bad_session(name);
}

static inline int check_win(MPI_Win win, const char *name)
{
    return CHECK_LIKELY(win_of(win) != NULL) ? MPI_SUCCESS : check_bad_win(name);
}

static inline int check_win_or_null(MPI_Win win, const char *name)
{
    return win == MPI_WIN_NULL ? MPI_SUCCESS : check_win(win, name);
}

/* win was checked before. */
static inline int check_target(MPI_Win win, int rank, const char *name)
{
    const int size = win_of(win)->comm->ranks->size;
    return CHECK_LIKELY((unsigned)rank < (unsigned)size) || rank == MPI_PROC_NULL
               ? MPI_SUCCESS
               : check_bad_rank(MPI_ERR_RANK, rank, size, name);
}

static inline int check_comm_or_null(MPI_Comm comm, const char *name)
{
    return comm == MPI_COMM_NULL ? MPI_SUCCESS : check_comm(comm, name);
}

static inline int check_count(MPI_Count count, const char *name)
{
    return CHECK_LIKELY(count >= 0) ? MPI_SUCCESS : check_bad_count(count, name);
}

static inline int check_datatype(MPI_Datatype type, const char *name)
{
    return CHECK_LIKELY(dt_find(type) != NULL) ? MPI_SUCCESS : check_bad_datatype(type, name);
}

/* comm was checked before. */
static inline int check_rank(MPI_Comm comm, int rank, const char *name)
{
    const int size = comm_of(comm)->peers->size;
    return CHECK_LIKELY((unsigned)rank < (unsigned)size) || rank == MPI_PROC_NULL
               ? MPI_SUCCESS
               : check_bad_rank(MPI_ERR_RANK, rank, size, name);
}

static inline int check_source(MPI_Comm comm, int rank, const char *name)
{
    return rank == MPI_ANY_SOURCE ? MPI_SUCCESS : check_rank(comm, rank, name);
}

static inline int check_root(MPI_Comm comm, int rank, const char *name)
{
    const mpi_comm_t *found = comm_of(comm);
    if (CHECK_LIKELY((unsigned)rank < (unsigned)found->peers->size))
        return MPI_SUCCESS;
    return comm_is_inter(found) && (rank == MPI_ROOT || rank == MPI_PROC_NULL)
               ? MPI_SUCCESS
               : check_bad_rank(MPI_ERR_ROOT, rank, found->peers->size, name);
}

static inline int check_intra(MPI_Comm comm, const char *name)
{
    return CHECK_LIKELY(!comm_is_inter(comm_of(comm))) ? MPI_SUCCESS : check_is_inter(name);
}

/* Of collectives that have no form for intercommunicators so far. */
static inline int check_intra_so_far(MPI_Comm comm, const char *name)
{
    return CHECK_LIKELY(!comm_is_inter(comm_of(comm))) ? MPI_SUCCESS : check_is_inter_so_far(name);
}

static inline int check_tag(int tag, const char *name)
{
    return CHECK_LIKELY(tag >= 0) ? MPI_SUCCESS : check_bad_tag(tag, name);
}

static inline int check_recv_tag(int tag, const char *name)
{
    return CHECK_LIKELY(tag >= 0 || tag == MPI_ANY_TAG) ? MPI_SUCCESS : check_bad_tag(tag, name);
}

static inline int check_op(MPI_Op op, const char *name)
{
    return CHECK_LIKELY(coll_op_is_valid(op)) ? MPI_SUCCESS : check_bad_op(name);
}

static inline int check_out(const void *pointer, const char *name)
{
    return CHECK_LIKELY(pointer != NULL) ? MPI_SUCCESS : check_null(name);
}

/* An array with `length` elements. */
static inline int check_array(const void *array, MPI_Count length, const char *name)
{
    return CHECK_LIKELY(array != NULL || length <= 0) ? MPI_SUCCESS : check_null(name);
}

/* An array of int as one of MPI_Count; up to ENTRY_NEAR elements without memory of the heap. */
#define ENTRY_NEAR 16
typedef struct entry_wide {
    MPI_Count *values; /* NULL: the array was NULL or does not count here */
    MPI_Count near[ENTRY_NEAR];
} entry_wide_t;

int entry_widen(entry_wide_t *wide, const int *values, MPI_Count length);
void entry_narrow_end(entry_wide_t *wide);

/* MPI_UNDEFINED when an int cannot hold it. */
int entry_narrow(MPI_Count value);

static inline MPI_Count entry_length_comm(MPI_Comm comm)
{
    const mpi_comm_t *found = comm_of(comm);
    return found == NULL ? 0 : found->peers->size;
}

static inline MPI_Count entry_length_local(MPI_Comm comm)
{
    const mpi_comm_t *found = comm_of(comm);
    return found == NULL ? 0 : found->ranks->size;
}

static inline MPI_Count entry_length_in(MPI_Comm comm)
{
    const mpi_comm_t *found = comm_of(comm);
    return found == NULL || found->topo == NULL ? 0 : found->topo->in_count;
}

static inline MPI_Count entry_length_out(MPI_Comm comm)
{
    const mpi_comm_t *found = comm_of(comm);
    return found == NULL || found->topo == NULL ? 0 : found->topo->out_count;
}

static inline MPI_Count entry_length_root(MPI_Comm comm, int root)
{
    const mpi_comm_t *found = comm_of(comm);
    if (found == NULL)
        return 0;
    return root == (comm_is_inter(found) ? MPI_ROOT : found->ranks->rank) ? found->peers->size : 0;
}

#endif
