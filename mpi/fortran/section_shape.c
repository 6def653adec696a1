/* SPDX-License-Identifier: Apache-2.0
 * section_shape.c - what a descriptor says of its array.
 */
#include "section.h"

bool section_ranks_dense(const descriptor_t *buffer)
{
    ptrdiff_t dense = (ptrdiff_t)buffer->element;
    bool gaps = false;
    for (int i = 0; i < buffer->rank; i++) {
        if (buffer->dim[i].extent == 0)
            return true;
        gaps = gaps || (buffer->dim[i].stride != dense && buffer->dim[i].extent != 1);
        dense *= buffer->dim[i].extent;
    }
    return !gaps;
}

MPI_Count section_elements(const descriptor_t *buffer)
{
    MPI_Count elements = 1;
    for (int i = 0; i < buffer->rank; i++)
        elements *= buffer->dim[i].extent;
    return elements;
}

ptrdiff_t section_place(const descriptor_t *buffer, MPI_Count element)
{
    ptrdiff_t place = 0;
    for (int i = 0; i < buffer->rank; i++) {
        place += element % buffer->dim[i].extent * buffer->dim[i].stride;
        element /= buffer->dim[i].extent;
    }
    return place;
}
