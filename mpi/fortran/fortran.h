/* SPDX-License-Identifier: Apache-2.0
 * fortran.h - how arguments of Fortran become arguments of C, and back.
 *
 * F1. Public names only: libmpifort_abi serves any libmpi_abi.so.1.
 * F2. Every source is compiled twice: mpi_x_ calls MPI_X, so that tools in C see it, and pmpi_x_ calls PMPI_X. In Open MPI's
 *     library both are one function, which calls PMPI_X.
 * F3. abi.h has what an ABI decides: the integers of handles (in_X, out_X) and of predefined keys, the variables of the marks.
 * F4. ierror may be NULL, for a program of mpi_f08 may leave it out. So mpi_f08 calls the same functions, by names with _f08;
 *     where a buffer is an argument it has functions of its own (section.h).
 */
#ifndef VERBENA_FORTRAN_H
#define VERBENA_FORTRAN_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#ifdef FORTRAN_PMPI
#define C(name) PMPI_##name
#define FORTRAN_NAMES(lower, upper, result, arguments) FORTRAN_SPELL(pmpi_##lower, PMPI_##upper, result, arguments)
#define FORTRAN_CALLED(lower) pmpi_##lower##_
#define FORTRAN_F08(lower) pmpi_##lower##_f08_
#define FORTRAN_TEXT(lower) "pmpi_" #lower "_"
#else
#define C(name) MPI_##name
#define FORTRAN_NAMES(lower, upper, result, arguments) FORTRAN_SPELL(mpi_##lower, MPI_##upper, result, arguments)
#define FORTRAN_CALLED(lower) mpi_##lower##_
#define FORTRAN_F08(lower) mpi_##lower##_f08_
#define FORTRAN_TEXT(lower) "mpi_" #lower "_"
#endif
#define FORTRAN_HIDDEN __attribute__((visibility("hidden"))) /* and so reached without a table */
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
#define FORTRAN(lower, upper, arguments)                                                                               \
    void FORTRAN_F08(lower) arguments __attribute__((weak, visibility("default"), alias(FORTRAN_TEXT(lower))));        \
    FORTRAN_NAMES(lower, upper, void, arguments)
/* F4: a function written by hand begins so, one that is generated ends with FORTRAN_RETURN. */
#define FORTRAN_CODE                                                                                                   \
    int no_code;                                                                                                       \
    ierror = ierror == NULL ? &no_code : ierror
#define FORTRAN_RETURN(code)                                                                                           \
    do {                                                                                                               \
        if (ierror != NULL)                                                                                            \
            *ierror = (code);                                                                                          \
        return;                                                                                                        \
    } while (0)

/* Variables of Fortran that stand for addresses of C: only their place counts. marks.c knows the places of each. */
typedef enum fortran_mark {
    MARK_BOTTOM,
    MARK_IN_PLACE,
    MARK_BUFFER_AUTOMATIC,
    MARK_UNWEIGHTED,
    MARK_WEIGHTS_EMPTY,
    MARK_ERRCODES_IGNORE,
    MARK_STATUS_IGNORE,
    MARK_STATUSES_IGNORE,
    MARK_NONE
} fortran_mark_t;
/* All places are between these, so most pointers need one comparison. */
extern uintptr_t fortran_marks_low FORTRAN_HIDDEN;
extern uintptr_t fortran_marks_span FORTRAN_HIDDEN;
fortran_mark_t fortran_mark_at(const void *pointer) FORTRAN_HIDDEN;

static inline fortran_mark_t mark_at(const void *pointer)
{
    return (uintptr_t)pointer - fortran_marks_low < fortran_marks_span ? fortran_mark_at(pointer) : MARK_NONE;
}

/* What a buffer stands for; const is the caller's affair. */
static inline void *in_buffer(const void *buffer)
{
    switch (mark_at(buffer)) {
    case MARK_BOTTOM: return MPI_BOTTOM;
    case MARK_IN_PLACE: return MPI_IN_PLACE;
    case MARK_BUFFER_AUTOMATIC: return MPI_BUFFER_AUTOMATIC;
    default: return (void *)(uintptr_t)buffer;
    }
}

static inline int *in_weights(const int *weights)
{
    const fortran_mark_t mark = mark_at(weights);
    if (mark == MARK_UNWEIGHTED)
        return MPI_UNWEIGHTED;
    return mark == MARK_WEIGHTS_EMPTY ? MPI_WEIGHTS_EMPTY : (int *)(uintptr_t)weights;
}

static inline MPI_Status *in_Status(const int *status)
{
    return mark_at(status) == MARK_STATUS_IGNORE ? MPI_STATUS_IGNORE : (MPI_Status *)(uintptr_t)status;
}

static inline MPI_Status *in_Statuses(const int *statuses)
{
    return mark_at(statuses) == MARK_STATUSES_IGNORE ? MPI_STATUSES_IGNORE : (MPI_Status *)(uintptr_t)statuses;
}

/* abi.h converts all these kinds of handles in one way; a handle of a file may need another. */
#define FORTRAN_HANDLES(handle)                                                                                        \
    handle(MPI_Comm, Comm) handle(MPI_Datatype, Type) handle(MPI_Errhandler, Errhandler) handle(MPI_Group, Group)      \
        handle(MPI_Info, Info) handle(MPI_Message, Message) handle(MPI_Op, Op) handle(MPI_Request, Request)            \
            handle(MPI_Session, Session) handle(MPI_Win, Win)
#include "abi.h"

/* An array of the call: on the stack as long as it is small. */
#define FORTRAN_FEW 64
#define FORTRAN_ARRAY(type, name, length)                                                                              \
    type name##_few[FORTRAN_FEW];                                                                                      \
    type *name = (length) <= FORTRAN_FEW ? name##_few : malloc((length) * sizeof(type));                               \
    if (name == NULL)                                                                                                  \
    FORTRAN_RETURN(MPI_ERR_NO_MEM)
#define FORTRAN_ARRAY_END(name)                                                                                        \
    if (name != name##_few)                                                                                            \
    free(name)

static inline size_t length_of(MPI_Count count)
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
