/* SPDX-License-Identifier: Apache-2.0
 * win_errors.c - each error class of chapter 12 (12.6), by the class that the call, or the next synchronisation, returns; errors of
 * requests call the window's handler (12.3.5, 9.3).
 * ranks: 1 2 3 tcp nodes
 */
#include "win.h"
#include "win_heard.h"

static MPI_Win created;
static MPI_Win dynamic;
static int memory[8];
static int next;

/* ---- one class each */

static int put(MPI_Win win, int target, MPI_Aint at, MPI_Datatype type)
{
    static const int out[4];
    int bytes;
    MPI_Type_size(type, &bytes);
    return MPI_Put(out, bytes, MPI_BYTE, target, at, 1, type, win);
}

static int win_class(void)
{
    return MPI_Win_fence(0, MPI_WIN_NULL);
}

static int base(void)
{
    MPI_Win win;
    return MPI_Win_create(NULL, 8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
}

/* The first page of a process is never mapped. */
static int unmapped_base(void)
{
    MPI_Win win;
    return MPI_Win_create((void *)64, 8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
}

static int size_class(void)
{
    MPI_Win win;
    return MPI_Win_create(memory, -1, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
}

static int unit(void)
{
    MPI_Win win;
    return MPI_Win_create(memory, 8, 0, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
}

static int displacement(void)
{
    return put(created, next, -1, MPI_INT);
}

static int lock_type(void)
{
    return MPI_Win_lock(MPI_LOCK_SHARED + MPI_LOCK_EXCLUSIVE, rank, 0, created);
}

static int assert_of_fence(void)
{
    return MPI_Win_fence(MPI_MODE_NOCHECK, created);
}

static int assert_of_post(void)
{
    return MPI_Win_post(MPI_GROUP_EMPTY, MPI_MODE_NOPRECEDE, created);
}

static int assert_of_start(void)
{
    return MPI_Win_start(MPI_GROUP_EMPTY, MPI_MODE_NOSTORE, created);
}

static int assert_of_lock(void)
{
    return MPI_Win_lock(MPI_LOCK_SHARED, rank, MPI_MODE_NOPUT, created);
}

static int assert_of_lock_all(void)
{
    return MPI_Win_lock_all(MPI_MODE_NOSUCCEED, created);
}

/* Elements of the target that overlap are written twice (12.3.1, 12.3.4). */
static int conflict_of(int accumulates)
{
    static const int out[4];
    MPI_Datatype type;
    MPI_Type_vector(2, 2, 1, MPI_INT, &type);
    MPI_Type_commit(&type);
    const int code = accumulates ? MPI_Accumulate(out, 4, MPI_INT, next, 0, 1, type, MPI_SUM, created)
                                 : MPI_Put(out, 4, MPI_INT, next, 0, 1, type, created);
    MPI_Type_free(&type);
    return code;
}

static int conflict(void)
{
    return conflict_of(0);
}

static int conflict_of_accumulates(void)
{
    return conflict_of(1);
}

static int sync_class(void)
{
    return MPI_Win_complete(created);
}

static int range(void)
{
    return put(created, next, 29, MPI_INT);
}

static int range_of_dynamic(void)
{
    const int now = put(dynamic, next, 64, MPI_INT);
    const int later = MPI_Win_flush(next, dynamic);
    return now != MPI_SUCCESS ? now : later;
}

static int attach(void)
{
    CHECK(MPI_Win_attach(dynamic, memory, 8) == MPI_SUCCESS);
    const int twice = MPI_Win_attach(dynamic, memory + 1, 8);
    MPI_Win_detach(dynamic, memory);
    return twice;
}

static int detach(void)
{
    return MPI_Win_detach(dynamic, memory);
}

static int flavour(void)
{
    return MPI_Win_attach(created, memory, 8);
}

static int flavour_of_query(void)
{
    MPI_Aint bytes;
    void *where;
    int number;
    return MPI_Win_shared_query(dynamic, rank, &bytes, &number, &where);
}

static int rank_class(void)
{
    return put(created, size, 0, MPI_INT);
}

static int info(void)
{
    return MPI_Win_set_info(created, (MPI_Info)(uintptr_t)created);
}

static int key(void)
{
    return MPI_Win_set_attr(created, MPI_KEYVAL_INVALID, NULL);
}

static int predefined_key(void)
{
    return MPI_Win_set_attr(created, MPI_WIN_SIZE, memory);
}

static const struct {
    const char *what;
    int class;
    int (*provoke)(void);
} classes[] = {
    {"null window", MPI_ERR_WIN, win_class},
    {"base", MPI_ERR_BASE, base},
    {"base that is not mapped", MPI_ERR_BASE, unmapped_base},
    {"size", MPI_ERR_SIZE, size_class},
    {"unit", MPI_ERR_DISP, unit},
    {"displacement", MPI_ERR_DISP, displacement},
    {"lock type", MPI_ERR_LOCKTYPE, lock_type},
    {"assert of a fence", MPI_ERR_ASSERT, assert_of_fence},
    {"assert of a post", MPI_ERR_ASSERT, assert_of_post},
    {"assert of a start", MPI_ERR_ASSERT, assert_of_start},
    {"assert of a lock", MPI_ERR_ASSERT, assert_of_lock},
    {"assert of lock_all", MPI_ERR_ASSERT, assert_of_lock_all},
    {"overlapping elements of a put", MPI_ERR_RMA_CONFLICT, conflict},
    {"overlapping elements of an accumulate", MPI_ERR_RMA_CONFLICT, conflict_of_accumulates},
    {"order", MPI_ERR_RMA_SYNC, sync_class},
    {"range", MPI_ERR_RMA_RANGE, range},
    {"range of a dynamic window", MPI_ERR_RMA_RANGE, range_of_dynamic},
    {"attach", MPI_ERR_RMA_ATTACH, attach},
    {"detach", MPI_ERR_RMA_ATTACH, detach},
    {"flavour", MPI_ERR_RMA_FLAVOR, flavour},
    {"flavour of a query", MPI_ERR_RMA_FLAVOR, flavour_of_query},
    {"rank", MPI_ERR_RANK, rank_class},
    {"info", MPI_ERR_INFO, info},
    {"key", MPI_ERR_KEYVAL, key},
    {"predefined key", MPI_ERR_KEYVAL, predefined_key},
};

static void each_class(void)
{
    MPI_Win_lock_all(0, created);
    MPI_Win_lock_all(0, dynamic);
    for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++) {
        const int code = classes[i].provoke();
        if (class_of(code) != classes[i].class)
            fprintf(stderr, "%s: class %d instead of %d\n", classes[i].what, class_of(code), classes[i].class);
        CHECK(class_of(code) == classes[i].class);
    }
    MPI_Win_unlock_all(created);
    MPI_Win_unlock_all(dynamic);
}

/* Ranks that cannot map the first one's memory say so; the others that it failed elsewhere. */
static void shared(void)
{
    void *where;
    MPI_Win win;
    int code = MPI_Win_allocate_shared(4, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &where, &win), refused;
    if (code == MPI_SUCCESS) {
        MPI_Win_free(&win);
        return;
    }
    code = code == MPI_ERR_RMA_SHARED;
    MPI_Allreduce(&code, &refused, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    CHECK(refused == 1);
}

/* ---- requests */

/* Nothing is attached at 64. */
static MPI_Request failing(int *into)
{
    MPI_Request request;
    CHECK(MPI_Rget(into, 1, MPI_INT, next, 64, 1, MPI_INT, dynamic, &request) == MPI_SUCCESS);
    return request;
}

static int is_told(int count, int code)
{
    return calls == count && last_code == code && last_win == dynamic;
}

static void requests(void)
{
    MPI_Status statuses[2];
    MPI_Request both[2];
    MPI_Errhandler handler;
    int into[2], flag = 0, index;
    MPI_Win_create_errhandler(on_win, &handler);
    MPI_Win_set_errhandler(dynamic, handler);
    MPI_Errhandler_free(&handler);
    MPI_Win_lock_all(0, dynamic);
    both[0] = failing(into);
    CHECK(MPI_Wait(&both[0], MPI_STATUS_IGNORE) == MPI_ERR_RMA_RANGE && is_told(1, MPI_ERR_RMA_RANGE));
    both[0] = failing(into);
    int code = MPI_SUCCESS;
    while (!flag && code == MPI_SUCCESS)
        code = MPI_Test(&both[0], &flag, MPI_STATUS_IGNORE);
    CHECK(code == MPI_ERR_RMA_RANGE && is_told(2, MPI_ERR_RMA_RANGE));
    both[0] = failing(into);
    CHECK(MPI_Waitany(1, both, &index, statuses) == MPI_ERR_RMA_RANGE && is_told(3, MPI_ERR_RMA_RANGE));
    both[0] = failing(into);
    CHECK(MPI_Rput(into, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, dynamic, &both[1]) == MPI_SUCCESS);
    CHECK(MPI_Waitall(2, both, statuses) == MPI_ERR_IN_STATUS && is_told(4, MPI_ERR_IN_STATUS));
    CHECK(class_of(statuses[0].MPI_ERROR) == MPI_ERR_RMA_RANGE && statuses[1].MPI_ERROR == MPI_SUCCESS);
    CHECK(MPI_Rget(into, 1, MPI_INT, next, 64, -1, MPI_INT, dynamic, &both[0]) == MPI_ERR_COUNT);
    CHECK(is_told(5, MPI_ERR_COUNT));
    MPI_Win_unlock_all(dynamic);
    CHECK(calls == 5); /* what a request has told no synchronisation tells */
    MPI_Win_set_errhandler(dynamic, MPI_ERRORS_RETURN);
    MPI_Win_lock_all(0, dynamic);
    both[0] = failing(into);
    CHECK(MPI_Wait(&both[0], MPI_STATUS_IGNORE) == MPI_ERR_RMA_RANGE && calls == 5);
    MPI_Win_unlock_all(dynamic);
}

static void test(void)
{
    next = (rank + 1) % size;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN); /* of calls without an object (9.3) */
    MPI_Win_create(memory, sizeof(memory), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &created);
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &dynamic);
    MPI_Win_set_errhandler(created, MPI_ERRORS_RETURN);
    MPI_Win_set_errhandler(dynamic, MPI_ERRORS_RETURN);
    each_class();
    shared();
    requests();
    MPI_Win_free(&created);
    MPI_Win_free(&dynamic);
}
