/* SPDX-License-Identifier: Apache-2.0
 * section.c - sections with gaps as datatypes, and as copies.
 */
#include "section.h"

#include <string.h>

/* Types of the first elements of a section: for each rank a type of all elements of the ranks below; the pieces of the whole. */
typedef struct pieces {
    MPI_Datatype slabs[SECTION_RANKS + 1]; // slabs[i]: one element of rank i
    int slabs_made;
    MPI_Count lengths[SECTION_RANKS + 2];
    MPI_Count places[SECTION_RANKS + 2];
    MPI_Datatype types[SECTION_RANKS + 2];
    int count;
} pieces_t;

/* Frees the type: pieces hold what they need. */
static int add_piece(pieces_t *pieces, MPI_Count place, int rc, MPI_Datatype type)
{
    if (rc != MPI_SUCCESS)
        return rc;
    pieces->lengths[pieces->count] = 1;
    pieces->places[pieces->count] = place;
    pieces->types[pieces->count++] = type;
    return MPI_SUCCESS;
}

static int make_slabs(pieces_t *pieces, const descriptor_t *from, MPI_Datatype type, MPI_Count per)
{
    int rc = PMPI_Type_contiguous_c(per, type, &pieces->slabs[0]);
    while (rc == MPI_SUCCESS && ++pieces->slabs_made < from->rank) {
        const int below = pieces->slabs_made - 1;
        rc = PMPI_Type_create_hvector_c(from->dim[below].extent, 1, from->dim[below].stride, pieces->slabs[below],
                                        &pieces->slabs[below + 1]);
    }
    return rc;
}

/* The first `elements` elements, and `rest` of `type` in the one behind them: the most whole slabs of the last rank, then of the
 * one below. */
static int make_pieces(pieces_t *pieces, const descriptor_t *from, MPI_Datatype type, MPI_Count elements,
                       MPI_Count rest)
{
    int rc = MPI_SUCCESS;
    MPI_Count place = 0;
    MPI_Count below = section_elements(from);
    MPI_Datatype made = MPI_DATATYPE_NULL;
    for (int i = from->rank - 1; rc == MPI_SUCCESS && i >= 0; i--) {
        below /= from->dim[i].extent;
        const MPI_Count whole = elements / below;
        if (whole > 0) {
            rc = PMPI_Type_create_hvector_c(whole, 1, from->dim[i].stride, pieces->slabs[i], &made);
            rc = add_piece(pieces, place, rc, made);
        }
        place += whole * from->dim[i].stride;
        elements -= whole * below;
    }
    if (rc == MPI_SUCCESS && rest > 0) {
        rc = PMPI_Type_contiguous_c(rest, type, &made);
        rc = add_piece(pieces, place, rc, made);
    }
    return rc;
}

static int join(const pieces_t *pieces, MPI_Datatype *type_p)
{
    int rc = PMPI_Type_create_struct_c(pieces->count, pieces->lengths, pieces->places, pieces->types, type_p);
    return rc == MPI_SUCCESS ? PMPI_Type_commit(type_p) : rc;
}

static int make_type(section_t *section, MPI_Count per)
{
    pieces_t pieces = {.count = 0};
    int rc = make_slabs(&pieces, section->from, section->type, per);
    if (rc == MPI_SUCCESS)
        rc = make_pieces(&pieces, section->from, section->type, section->count / per, section->count % per);
    if (rc == MPI_SUCCESS)
        rc = join(&pieces, &section->made);
    for (int i = 0; i < pieces.slabs_made; i++)
        (void)PMPI_Type_free(&pieces.slabs[i]);
    for (int i = 0; i < pieces.count; i++)
        (void)PMPI_Type_free(&pieces.types[i]);
    return rc;
}

/* How many of the type fill an element without gaps; 0: none do. */
static MPI_Count fills(MPI_Datatype type, MPI_Count element)
{
    MPI_Count size = 0;
    MPI_Count low = 0;
    MPI_Count extent = 0;
    MPI_Count true_low = 0;
    MPI_Count true_extent = 0;
    (void)PMPI_Type_size_c(type, &size);
    (void)PMPI_Type_get_extent_c(type, &low, &extent);
    (void)PMPI_Type_get_true_extent_c(type, &true_low, &true_extent);
    const bool gaps = size <= 0 || low != 0 || true_low != 0 || extent != size || true_extent != size;
    return gaps || element % size != 0 ? 0 : element / size;
}

int section_as_type(section_t *section)
{
    int rc;
    if (section->count <= 0 || section->type == MPI_DATATYPE_NULL || section->from->base == NULL)
        return MPI_SUCCESS; /* nothing is moved, or C says what is wrong */
    const MPI_Count per = fills(section->type, (MPI_Count)section->from->element);
    if (per == 0) {
        rc = section_as_bytes(section);
    } else {
        if (section->count > section_elements(section->from) * per)
            return MPI_ERR_BUFFER; /* the section has fewer elements */
        rc = make_type(section, per);
    }
    if (rc == MPI_SUCCESS) {
        section->type = section->made;
        section->count = 1;
    }
    return rc;
}

/* One row of the first rank after the other. */
void section_move(const section_t *section, bool out)
{
    const descriptor_t *from = section->from;
    const size_t element = from->element;
    const ptrdiff_t rows = section_elements(from) / from->dim[0].extent;
    char *dense = section->copy;
    for (ptrdiff_t row = 0; row < rows; row++) {
        char *at = (char *)from->base + section_place(from, row * from->dim[0].extent);
        for (ptrdiff_t i = 0; i < from->dim[0].extent; i++, at += from->dim[0].stride, dense += element)
            memcpy(out ? at : dense, out ? dense : at, element);
    }
}

int section_as_copy(section_t *section)
{
    if (section->from->base == NULL) // not significant here, and not there
        return MPI_SUCCESS;
    section->copy = malloc((size_t)section_elements(section->from) * section->from->element);
    if (section->copy == NULL)
        return MPI_ERR_NO_MEM;
    section_move(section, false);
    section->address = section->copy;
    return MPI_SUCCESS;
}

int section_as_even(section_t *section)
{
    const descriptor_t *from = section->from;
    ptrdiff_t next = from->dim[0].stride;
    bool even = next > 0 && fills(section->type, (MPI_Count)from->element) == 1;
    for (int i = 0; i < from->rank; i++) {
        even = even && (from->dim[i].stride == next || from->dim[i].extent == 1);
        next *= from->dim[i].extent;
    }
    if (!even)
        return MPI_ERR_BUFFER;
    int rc = PMPI_Type_create_resized_c(section->type, 0, from->dim[0].stride, &section->made);
    if (rc == MPI_SUCCESS)
        rc = PMPI_Type_commit(&section->made);
    section->type = section->made;
    return rc;
}

void section_drop(section_t *section, bool out)
{
    if (section->made != MPI_DATATYPE_NULL)
        (void)PMPI_Type_free(&section->made);
    if (section->copy != NULL && out)
        section_move(section, true);
    free(section->copy);
    section->copy = NULL;
}
