/* SPDX-License-Identifier: Apache-2.0
 * descriptor.h - buffers of MPICH's mpi_f08: gfortran's own descriptors of arrays, which become those of section.h.
 */
#ifndef VERBENA_FORTRAN_DESCRIPTOR_H
#define VERBENA_FORTRAN_DESCRIPTOR_H

#include "section.h"

typedef struct gfortran { // since gfortran 8
    void *base;
    size_t offset;
    size_t element; // bytes
    int version;
    signed char rank;
    signed char type;
    short attribute;
    ptrdiff_t span; // bytes that a stride of one takes
    struct {
        ptrdiff_t stride, lower, upper;
    } dim[];
} gfortran_t;

typedef union whole {
    descriptor_t head;
    char room[sizeof(descriptor_t) + SECTION_RANKS * sizeof(((descriptor_t *)0)->dim[0])];
} whole_t;

/* The last extent of an assumed-size array is not known: the compiler says -1, which S2 takes. */
static inline const descriptor_t *whole_of(whole_t *whole, const gfortran_t *from)
{
    descriptor_t *to = &whole->head;
    const ptrdiff_t span = from->span != 0 ? from->span : (ptrdiff_t)from->element;
    *to = (descriptor_t){.base = from->base, .element = from->element, .version = from->version, .rank = from->rank};
    for (int i = 0; i < from->rank && i < SECTION_RANKS; i++) {
        to->dim[i].lower = from->dim[i].lower;
        to->dim[i].extent = from->dim[i].upper - from->dim[i].lower + 1;
        to->dim[i].stride = from->dim[i].stride * span;
        if (to->dim[i].extent < -1 || (to->dim[i].extent == -1 && i + 1 < from->rank))
            to->dim[i].extent = 0;
    }
    return to;
}

static inline const descriptor_t *whole_text(whole_t *whole, const char *text, size_t length)
{
    whole->head = (descriptor_t){.base = (void *)(uintptr_t)text, .element = length};
    return &whole->head;
}

#ifdef FORTRAN_PMPI
#define TS_NAME(lower, end) pmpir_##lower##_f08ts##end
#else
#define TS_NAME(lower, end) mpi_##lower##_f08ts##end
#endif
/* end: _ or, with large counts, _large_. */
#define TS(lower, end, arguments)                                                                                      \
    void TS_NAME(lower, end) arguments FORTRAN_VISIBLE;                                                                \
    void TS_NAME(lower, end) arguments

#endif
