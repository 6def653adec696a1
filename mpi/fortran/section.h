/* SPDX-License-Identifier: Apache-2.0
 * section.h - buffers of mpi_f08: arrays and sections of arrays, which the compiler describes by descriptors.
 *
 * C gets the address of dense memory. A section with gaps is what a dense copy of its elements would be, in their order: count and
 * datatype of the call apply to that copy (MPI 19.1.12). Two ways:
 *
 *   as a type   the elements that the call names become one datatype; C reads and writes them where they are, also after the
 *               call. The type is freed at once: C keeps what it needs.
 *   as a copy   where the datatype of the call must stay (reductions), or where one count and one datatype cannot tell all of the
 *               buffer (a gather's buffer at its root). It ends with the call, or later with the request (later.h).
 *
 * S1. The descriptor of gfortran and that of flang agree in what descriptor_t names.
 * S2. Memory of an assumed-size array is dense, whatever its last extent says.
 */
#ifndef VERBENA_FORTRAN_SECTION_H
#define VERBENA_FORTRAN_SECTION_H

#include <stdbool.h>

#include "fortran.h"

#define SECTION_RANKS 15

typedef struct descriptor { // S1
    void *base;
    size_t element; // bytes
    int version;
    signed char rank;
    char kinds[3];
    struct {
        ptrdiff_t lower, extent, stride; // the stride in bytes
    } dim[];
} descriptor_t;

/* Begins the definition of a function whose buffers are descriptors; the name has no prefix, and _c where counts are large. */
#ifdef FORTRAN_PMPI
#define F08_NAME(name) PMPI_##name##_f08ts
#else
#define F08_NAME(name) MPI_##name##_f08ts
#endif
#ifdef FORTRAN_OWN_DESCRIPTORS // programs call others, which call this one
#define F08_SEEN FORTRAN_HIDDEN
#else
#define F08_SEEN FORTRAN_VISIBLE
#endif
#define F08(name, arguments)                                                                                           \
    void F08_NAME(name) arguments F08_SEEN;                                                                            \
    void F08_NAME(name) arguments

typedef struct section {
    void *address;
    MPI_Count count;
    MPI_Datatype type;
    MPI_Datatype made; // MPI_DATATYPE_NULL: none
    void *copy;        // NULL: none
    const descriptor_t *from;
    struct later *later; // keeps the copy after the call; NULL: nobody
} section_t;

static inline section_t section_of(const descriptor_t *buffer, MPI_Count count, MPI_Datatype type)
{
    return (section_t){in_buffer(buffer->base), count, type, MPI_DATATYPE_NULL, NULL, buffer, NULL};
}

bool section_ranks_dense(const descriptor_t *buffer);

/* Its memory has no gaps. */
static inline bool section_dense(const descriptor_t *buffer)
{
    if (buffer->rank == 0)
        return true;
    if (buffer->rank == 1)
        return buffer->dim[0].stride == (ptrdiff_t)buffer->element || buffer->dim[0].extent == 1 ||
               buffer->dim[0].extent == 0;
    return section_ranks_dense(buffer);
}

/* Give the error class. */
int section_as_type(section_t *section);
int section_as_copy(section_t *section);
int section_as_later(section_t *section); // a copy of a call that returns before it is done
/* Elements at equal distances, one by one: of partitioned operations. */
int section_as_even(section_t *section);
/* The same for a type with gaps, or larger than an element: made of bytes. */
int section_as_bytes(section_t *section);

/* Elements of the buffer. */
MPI_Count section_elements(const descriptor_t *buffer);
/* Where an element is, from the base. */
ptrdiff_t section_place(const descriptor_t *buffer, MPI_Count element);

/* What a section cannot be is an error of the object, as those of C are. */
static inline int section_error_Comm(MPI_Comm comm, int code)
{
    (void)PMPI_Comm_call_errhandler(comm, code);
    return code;
}

static inline int section_error_Win(MPI_Win win, int code)
{
    (void)PMPI_Win_call_errhandler(win, code);
    return code;
}

static inline int section_error_File(MPI_File file, int code)
{
    (void)PMPI_File_call_errhandler(file, code);
    return code;
}

/* Between the section and its copy. */
void section_move(const section_t *section, bool out);
void section_drop(section_t *section, bool out);
/* After a call that has made a request, if `code` is success: keeps the copy, if there is one, for the request's end. */
void section_leave(section_t *section, bool out, int code, const int *request, bool persistent);

/* After the call; out: a copy goes back. */
static inline void section_end(section_t *section, bool out)
{
    if (section->made != MPI_DATATYPE_NULL || section->copy != NULL)
        section_drop(section, out);
}

#endif
