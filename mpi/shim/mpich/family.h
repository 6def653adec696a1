/* SPDX-License-Identifier: Apache-2.0
 * family.h - the ABI of MPICH, and of the libraries that share it (libmpi.so.12): handles are ints, but for files.
 *
 * A handle has two bits for the way it is kept, four for its type, and 26 for the rest: 0x44000000 is a predefined communicator.
 * Predefined handles are rows of a table of their type, by the bits that tell them apart. An object has the bits of MPICH's
 * indirect objects and, as the rest, the number that the library gives it (mpi/obj/number.c), from 0x1000 on.
 */
#ifndef VERBENA_SHIM_FAMILY_H
#define VERBENA_SHIM_FAMILY_H

#include <string.h>

#include "obj/number.h"

typedef void (*F_callback)(void);

typedef struct F_Status {
    int count_low;
    int count_high; /* the lowest bit: cancelled */
    int MPI_SOURCE;
    int MPI_TAG;
    int MPI_ERROR;
} F_Status;
_Static_assert(sizeof(F_Status) == 20, "size of MPI_Status");

#define F_STATUS_IGNORE ((F_Status *)1)
#define F_STATUSES_IGNORE ((F_Status *)1)

#define SHIM_ROWS 512
#define SHIM_OBJECT 0x20U /* in the upper six bits: an object of the program */
#define SHIM_REST 0x3ffffffU
_Static_assert(SHIM_REST == OBJ_CHUNK * OBJ_CHUNKS - 1, "each rest is a number of the table");

typedef struct shim_row {
    uint32_t handle;
    uint32_t value; /* in the standard ABI */
} shim_row_t;

extern const uint32_t shim_handles[SHIM_PREDEFINED]; /* of predefined handles of the standard ABI */
extern obj_entry_t *vbnmpi_numbers[OBJ_CHUNKS];      /* of objects (mpi/obj/number.c) */

/* 0, which stands for no object, when there is no such handle (A1). */
static inline uintptr_t shim_predefined(const shim_row_t rows[SHIM_ROWS], uint32_t handle)
{
    const shim_row_t *row = &rows[(handle >> 23 & 0x180) | (handle & 0x7f)];
    return row->handle == handle ? row->value : 0;
}

static inline int shim_is_object(uint32_t handle, uint32_t bits)
{
    return handle >> 26 == (SHIM_OBJECT | bits) && (handle & SHIM_REST) >= OBJ_FIRST;
}

/* name: of the functions of the type; null: of its constant; bits: MPICH's for it. */
#define SHIM_HANDLE(type, name, null, bits)                                                                            \
    typedef int F_##type;                                                                                              \
    extern const shim_row_t shim_rows_##type[SHIM_ROWS];                                                               \
    static inline MPI_##type in_##type(F_##type handle)                                                                \
    {                                                                                                                  \
        const uint32_t word = (uint32_t)handle;                                                                        \
        if (shim_is_object(word, bits)) {                                                                              \
            void *object = obj_numbered(vbnmpi_numbers, word & SHIM_REST);                                             \
            return object == NULL ? MPI_##null##_NULL : (MPI_##type)object;                                            \
        }                                                                                                              \
        return (MPI_##type)shim_predefined(shim_rows_##type, word);                                                    \
    }                                                                                                                  \
    static inline F_##type out_##type(MPI_##type handle)                                                               \
    {                                                                                                                  \
        if ((uintptr_t)handle < SHIM_PREDEFINED)                                                                       \
            return (int)shim_handles[(uintptr_t)handle];                                                               \
        int number = obj_number(handle);                                                                               \
        if (number == 0 && (number = vbnmpi_##name##_toint(handle)) < 0)                                               \
            return 0;                                                                                                  \
        return (int)((SHIM_OBJECT | bits) << 26 | (uint32_t)number);                                                   \
    }

SHIM_HANDLE(Comm, Comm, COMM, 1)
SHIM_HANDLE(Group, Group, GROUP, 2)
SHIM_HANDLE(Datatype, Type, DATATYPE, 3)
SHIM_HANDLE(Errhandler, Errhandler, ERRHANDLER, 5)
SHIM_HANDLE(Op, Op, OP, 6)
SHIM_HANDLE(Info, Info, INFO, 7)
SHIM_HANDLE(Win, Win, WIN, 8)
SHIM_HANDLE(Request, Request, REQUEST, 11)
SHIM_HANDLE(Message, Message, MESSAGE, 11)
SHIM_HANDLE(Session, Session, SESSION, 14)

typedef MPI_File F_File; /* an address in both ABIs */

static inline MPI_File in_File(F_File handle)
{
    return handle == NULL ? MPI_FILE_NULL : handle;
}

static inline F_File out_File(MPI_File handle)
{
    return handle == MPI_FILE_NULL ? NULL : handle;
}

/* MPI_BOTTOM is the same; MPI_IN_PLACE is -1, MPI_BUFFER_AUTOMATIC -2. */
static inline void *in_buffer(const void *buffer)
{
    const uintptr_t address = (uintptr_t)buffer;
    return address >= (uintptr_t)-2 ? (void *)-address : (void *)address;
}

static inline void out_buffer(void *address)
{
    void *buffer;
    memcpy(&buffer, address, sizeof(buffer));
    if (buffer == MPI_BUFFER_AUTOMATIC)
        buffer = (void *)(uintptr_t)-2;
    memcpy(address, &buffer, sizeof(buffer));
}

#define SHIM_REQUESTS(requests) (requests == NULL ? NULL : requests##_s)
#define SHIM_REQUESTS_IN(requests, n)                                                                                  \
    const size_t requests##_n = requests == NULL ? 0 : n;                                                              \
    SHIM_ARRAY(MPI_Request, requests##_s, requests##_n);                                                               \
    for (size_t i = 0; i < requests##_n; i++)                                                                          \
    requests##_s[i] = in_Request(requests[i])
#define SHIM_REQUESTS_OUT(requests, n)                                                                                 \
    for (size_t i = 0; i < requests##_n; i++)                                                                          \
        requests[i] = out_Request(requests##_s[i]);                                                                    \
    SHIM_ARRAY_END(requests##_s)

/* What the library keeps in a status: the number of bytes in the first two words, whether it was cancelled in the third
 * (mpi/p2p/status.c). */
static inline void status_none(MPI_Status *status, const F_Status *old)
{
    (void)old;
    status->MPI_SOURCE = SHIM_UNSET;
    status->MPI_ERROR = SHIM_UNSET;
}

static inline int shim_has_status(const F_Status *status)
{
    return status != NULL && status != F_STATUS_IGNORE;
}

static inline void in_Status(MPI_Status *status, const F_Status *from)
{
    if (!shim_has_status(from))
        return;
    *status = (MPI_Status){.MPI_SOURCE = in_RANK(from->MPI_SOURCE),
                           .MPI_TAG = in_TAG(from->MPI_TAG),
                           .MPI_ERROR = in_ERRCODE(from->MPI_ERROR)};
    const uint64_t bytes = (uint64_t)((uint32_t)from->count_high >> 1) << 32 | (uint32_t)from->count_low;
    memcpy(status->MPI_internal, &bytes, sizeof(bytes));
    status->MPI_internal[2] = from->count_high & 1;
}

/* What the call has set. */
static inline void out_Status_at(F_Status *to, const MPI_Status *status)
{
    if (status->MPI_SOURCE != SHIM_UNSET) {
        uint64_t bytes;
        memcpy(&bytes, status->MPI_internal, sizeof(bytes));
        to->MPI_SOURCE = out_RANK(status->MPI_SOURCE);
        to->MPI_TAG = out_TAG(status->MPI_TAG);
        to->count_low = (int)(uint32_t)bytes;
        to->count_high = (int)((uint32_t)(bytes >> 32) << 1 | (status->MPI_internal[2] != 0));
    }
    if (status->MPI_ERROR != SHIM_UNSET)
        to->MPI_ERROR = out_ERRCODE(status->MPI_ERROR);
}

static inline void out_Status(F_Status *to, const MPI_Status *status)
{
    if (shim_has_status(to))
        out_Status_at(to, status);
}

#endif
