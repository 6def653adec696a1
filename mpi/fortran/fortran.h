/* SPDX-License-Identifier: Apache-2.0
 * fortran.h - how arguments of Fortran become arguments of C, and back.
 *
 * F1. Public names of the standard ABI only: the library serves any libmpi_abi.so.1.
 * F2. Every source is compiled twice: mpi_x_ calls MPI_X, so that tools in C see it, and pmpi_x_ calls PMPI_X.
 * F3. A handle below 0x1000 is its own number, by the standard; only others ask the C library for theirs.
 */
#ifndef VERBENA_FORTRAN_H
#define VERBENA_FORTRAN_H

#include <mpi.h>
#include <stddef.h>
#include <stdlib.h>

#ifdef FORTRAN_PMPI
#define C(name) PMPI_##name
#define FORTRAN_NAMES(lower, upper, result, arguments) FORTRAN_SPELL(pmpi_##lower, PMPI_##upper, result, arguments)
#define FORTRAN_CALLED(lower) pmpi_##lower##_
#else
#define C(name) MPI_##name
#define FORTRAN_NAMES(lower, upper, result, arguments) FORTRAN_SPELL(mpi_##lower, MPI_##upper, result, arguments)
#define FORTRAN_CALLED(lower) mpi_##lower##_
#endif
#define FORTRAN_VISIBLE __attribute__((weak, visibility("default")))
#define FORTRAN_ALIAS(target) __attribute__((weak, visibility("default"), alias(#target "_")))
#define FORTRAN_SPELL(lower, upper, result, arguments)                                                                 \
    result lower##_ arguments FORTRAN_VISIBLE;                                                                         \
    result lower##__ arguments FORTRAN_ALIAS(lower);                                                                   \
    result lower arguments FORTRAN_ALIAS(lower);                                                                       \
    result upper arguments FORTRAN_ALIAS(lower);                                                                       \
    result lower##_ arguments
/* Begins the definition of a function in all four spellings of its name. */
#define FORTRAN_FUNCTION(lower, upper, result, arguments) FORTRAN_NAMES(lower, upper, result, arguments)
#define FORTRAN(lower, upper, arguments) FORTRAN_NAMES(lower, upper, void, arguments)

/* The common block of mpif.h and of the module mpi: its variables stand for addresses of C, and only their place counts. */
typedef struct fortran_marks {
    int bottom, in_place, buffer_automatic, unweighted, weights_empty, errcodes_ignore;
    int status_ignore[8], statuses_ignore[8];
} fortran_marks_t;
extern fortran_marks_t vbnf_marks_ __attribute__((visibility("default")));

#define IS_MARK(pointer, name) ((const void *)(pointer) == (const void *)&vbnf_marks_.name)

/* What a buffer stands for; const is the caller's affair. */
static inline void *in_buffer(const void *buffer)
{
    if ((size_t)((const char *)buffer - (const char *)&vbnf_marks_) >= sizeof(vbnf_marks_))
        return (void *)(uintptr_t)buffer;
    if (IS_MARK(buffer, bottom))
        return MPI_BOTTOM;
    if (IS_MARK(buffer, in_place))
        return MPI_IN_PLACE;
    return IS_MARK(buffer, buffer_automatic) ? MPI_BUFFER_AUTOMATIC : (void *)(uintptr_t)buffer;
}

static inline int *in_weights(const int *weights)
{
    if (IS_MARK(weights, unweighted))
        return MPI_UNWEIGHTED;
    return IS_MARK(weights, weights_empty) ? MPI_WEIGHTS_EMPTY : (int *)(uintptr_t)weights;
}

static inline MPI_Status *in_Status(const int *status)
{
    return IS_MARK(status, status_ignore) ? MPI_STATUS_IGNORE : (MPI_Status *)(uintptr_t)status;
}

static inline MPI_Status *in_Statuses(const int *statuses)
{
    return IS_MARK(statuses, statuses_ignore) ? MPI_STATUSES_IGNORE : (MPI_Status *)(uintptr_t)statuses;
}

#define FORTRAN_PREDEFINED 0x1000 /* F3 */
#define FORTRAN_HANDLE(type, name)                                                                                     \
    static inline type in_##name(int number)                                                                           \
    {                                                                                                                  \
        return (unsigned)number < FORTRAN_PREDEFINED ? (type)(uintptr_t)number : C(name##_fromint)(number);            \
    }                                                                                                                  \
    static inline int out_##name(type handle)                                                                          \
    {                                                                                                                  \
        return (uintptr_t)handle < FORTRAN_PREDEFINED ? (int)(uintptr_t)handle : C(name##_toint)(handle);              \
    }
FORTRAN_HANDLE(MPI_Comm, Comm)
FORTRAN_HANDLE(MPI_Datatype, Type)
FORTRAN_HANDLE(MPI_Errhandler, Errhandler)
FORTRAN_HANDLE(MPI_File, File)
FORTRAN_HANDLE(MPI_Group, Group)
FORTRAN_HANDLE(MPI_Info, Info)
FORTRAN_HANDLE(MPI_Message, Message)
FORTRAN_HANDLE(MPI_Op, Op)
FORTRAN_HANDLE(MPI_Request, Request)
FORTRAN_HANDLE(MPI_Session, Session)
FORTRAN_HANDLE(MPI_Win, Win)

/* An array of the call: on the stack as long as it is small. */
#define FORTRAN_FEW 64
#define FORTRAN_ARRAY(type, name, length)                                                                              \
    type name##_few[FORTRAN_FEW];                                                                                      \
    type *name = (length) <= FORTRAN_FEW ? name##_few : malloc((length) * sizeof(type));                               \
    if (name == NULL) {                                                                                                \
        *ierror = MPI_ERR_NO_MEM;                                                                                      \
        return;                                                                                                        \
    }
#define FORTRAN_ARRAY_END(name)                                                                                        \
    if (name != name##_few)                                                                                            \
    free(name)

static inline size_t length_of(int count)
{
    return count < 0 ? 0 : (size_t)count;
}

/* Lengths of arrays that no argument says. */
size_t fortran_length_comm(MPI_Comm comm);
size_t fortran_length_in(MPI_Comm comm);
size_t fortran_length_out(MPI_Comm comm);

/* A string of Fortran as one of C, to be freed, without trailing blanks; if `lead` without leading ones. NULL: no memory. */
char *fortran_text_in(const char *text, size_t length, int lead);
/* The other way: cut, or filled with blanks. */
void fortran_text_out(char *text, size_t length, const char *from);
/* Tells the C library once what the compiler's default kinds are; after MPI_Init, for MPICH refuses it earlier. */
void fortran_kinds(void);

#endif
