/* SPDX-License-Identifier: Apache-2.0
 * family.h - the ABI of Open MPI 4 and 5 (libmpi.so.40): handles are addresses, of data symbols or of our objects.
 *
 * A predefined handle is the address of a symbol. Programs may hold a copy of the symbol (R_X86_64_COPY), and the address of that
 * copy is the handle then. So what lies there says which handle it is: its first word is the value of the standard ABI. Our own
 * objects begin with their kind (mpi/obj/obj.h), which is larger: their address is the handle in both ABIs.
 */
#ifndef VERBENA_SHIM_FAMILY_H
#define VERBENA_SHIM_FAMILY_H

#include <string.h>

typedef void (*F_callback)(void);

#define SHIM_NUMBERS 80 /* numbers of predefined handles in Fortran are lower */

/* What a program's pointer to a predefined handle points to; and what stands for one that the family does not have. */
#define SHIM_SYMBOL(symbol, value_, size)                                                                              \
    SHIM_VISIBLE extern struct shim_##symbol {                                                                         \
        uintptr_t value;                                                                                               \
        char rest[(size) - sizeof(uintptr_t)];                                                                         \
    } symbol;                                                                                                          \
    struct shim_##symbol symbol __attribute__((aligned(32))) = {.value = value_}
#define SHIM_UNNAMED(symbol, value_) static const uintptr_t symbol = value_

extern const void *const shim_addresses[SHIM_PREDEFINED]; /* of each predefined handle */
extern const int16_t shim_fortran[SHIM_PREDEFINED];       /* its number in Fortran + 1; 0: none */

typedef struct F_Status {
    int MPI_SOURCE;
    int MPI_TAG;
    int MPI_ERROR;
    int cancelled;
    size_t bytes;
} F_Status;
_Static_assert(sizeof(F_Status) == 24, "size of MPI_Status");

#define F_STATUS_IGNORE ((F_Status *)0)
#define F_STATUSES_IGNORE ((F_Status *)0)

static inline uintptr_t shim_in(const void *handle)
{
    uintptr_t word;
    if (handle == NULL)
        return 0;
    memcpy(&word, handle, sizeof(word));
    return word < SHIM_PREDEFINED ? word : (uintptr_t)handle;
}

static inline uintptr_t shim_out(uintptr_t handle)
{
    return handle < SHIM_PREDEFINED ? (uintptr_t)shim_addresses[handle] : handle;
}

#define SHIM_HANDLE(type)                                                                                              \
    typedef MPI_##type F_##type;                                                                                       \
    extern const uint16_t shim_numbers_##type[SHIM_NUMBERS]; /* of Fortran: the value in the standard ABI; 0: none */  \
    static inline MPI_##type in_##type(F_##type handle)                                                                \
    {                                                                                                                  \
        return (MPI_##type)shim_in(handle);                                                                            \
    }                                                                                                                  \
    static inline F_##type out_##type(MPI_##type handle)                                                               \
    {                                                                                                                  \
        return (F_##type)shim_out((uintptr_t)handle);                                                                  \
    }

SHIM_HANDLE(Comm)
SHIM_HANDLE(Datatype)
SHIM_HANDLE(Errhandler)
SHIM_HANDLE(File)
SHIM_HANDLE(Group)
SHIM_HANDLE(Info)
SHIM_HANDLE(Message)
SHIM_HANDLE(Op)
SHIM_HANDLE(Request)
SHIM_HANDLE(Session)
SHIM_HANDLE(Win)

/* MPI_BOTTOM and MPI_IN_PLACE have the same values. */
static inline void *in_buffer(const void *buffer)
{
    return (void *)(uintptr_t)buffer;
}

static inline void out_buffer(const void *address)
{
    (void)address;
}

/* Requests are converted where they are: only those of MPI_REQUEST_NULL change. */
#define SHIM_REQUESTS(requests) requests
#define SHIM_REQUESTS_IN(requests, n)                                                                                  \
    for (size_t i = 0; requests != NULL && i < n; i++)                                                                 \
    requests[i] = in_Request(requests[i])
#define SHIM_REQUESTS_OUT(requests, n)                                                                                 \
    for (size_t i = 0; requests != NULL && i < n; i++)                                                                 \
    requests[i] = out_Request(requests[i])

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
    return status != NULL;
}

static inline void in_Status(MPI_Status *status, const F_Status *from)
{
    if (!shim_has_status(from))
        return;
    *status = (MPI_Status){.MPI_SOURCE = in_RANK(from->MPI_SOURCE),
                           .MPI_TAG = in_TAG(from->MPI_TAG),
                           .MPI_ERROR = in_ERRCODE(from->MPI_ERROR)};
    const uint64_t bytes = from->bytes;
    memcpy(status->MPI_internal, &bytes, sizeof(bytes));
    status->MPI_internal[2] = from->cancelled;
}

/* What the call has set. */
static inline void out_Status_at(F_Status *to, const MPI_Status *status)
{
    if (status->MPI_SOURCE != SHIM_UNSET) {
        uint64_t bytes;
        memcpy(&bytes, status->MPI_internal, sizeof(bytes));
        to->MPI_SOURCE = out_RANK(status->MPI_SOURCE);
        to->MPI_TAG = out_TAG(status->MPI_TAG);
        to->cancelled = status->MPI_internal[2];
        to->bytes = bytes;
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
