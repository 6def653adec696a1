/* SPDX-License-Identifier: Apache-2.0
 * section_bytes.c - a section with a datatype that has gaps, or that is larger than an element. The datatype says which bytes of
 * the dense copy it means; the type that is made means the same bytes where they are in the section.
 */
#include "section.h"

#include <string.h>

typedef struct runs {
    MPI_Count *places;
    MPI_Count *lengths;
    MPI_Count count;
    MPI_Count room;
} runs_t;

static int add_run(runs_t *runs, MPI_Count place, MPI_Count length)
{
    const MPI_Count last = runs->count - 1;
    if (last >= 0 && runs->places[last] + runs->lengths[last] == place) {
        runs->lengths[last] += length;
        return MPI_SUCCESS;
    }
    if (runs->count == runs->room) {
        const size_t room = runs->room == 0 ? 64 : (size_t)runs->room * 2;
        MPI_Count *places = realloc(runs->places, room * sizeof(*places));
        runs->places = places != NULL ? places : runs->places;
        MPI_Count *lengths = realloc(runs->lengths, room * sizeof(*lengths));
        runs->lengths = lengths != NULL ? lengths : runs->lengths;
        if (places == NULL || lengths == NULL)
            return MPI_ERR_NO_MEM;
        runs->room = (MPI_Count)room;
    }
    runs->places[runs->count] = place;
    runs->lengths[runs->count++] = length;
    return MPI_SUCCESS;
}

static void end_runs(runs_t *runs)
{
    free(runs->places);
    free(runs->lengths);
}

/* Where each packed byte of the type lies, from the lowest one: memory whose bytes hold 8 bits of their place is packed, and this
 * for as many bits as places need. */
static int find_places(MPI_Datatype type, MPI_Count size, MPI_Count low, MPI_Count extent, MPI_Count *places)
{
    int rc = MPI_SUCCESS;
    unsigned char *area = malloc((size_t)extent);
    unsigned char *packed = malloc((size_t)size);
    if (area == NULL || packed == NULL)
        rc = MPI_ERR_NO_MEM;
    memset(places, 0, (size_t)size * sizeof(*places));
    for (int shift = 0; rc == MPI_SUCCESS && shift < 63 && (extent - 1) >> shift != 0; shift += 8) {
        MPI_Count position = 0;
        for (MPI_Count i = 0; i < extent; i++)
            area[i] = (unsigned char)(i >> shift);
        rc = PMPI_Pack_c(area - low, 1, type, packed, size, &position, MPI_COMM_SELF);
        for (MPI_Count i = 0; i < size; i++)
            places[i] |= (MPI_Count)packed[i] << shift;
    }
    free(area);
    free(packed);
    return rc;
}

static int type_runs(MPI_Datatype type, MPI_Count size, runs_t *runs)
{
    MPI_Count low = 0;
    MPI_Count extent = 0;
    (void)PMPI_Type_get_true_extent_c(type, &low, &extent);
    MPI_Count *places = malloc((size_t)size * sizeof(*places));
    int rc = places == NULL ? MPI_ERR_NO_MEM : find_places(type, size, low, extent, places);
    for (MPI_Count i = 0; rc == MPI_SUCCESS && i < size; i++)
        rc = add_run(runs, places[i] + low, 1);
    free(places);
    return rc;
}

/* Bytes [place, place + length) of the dense copy, as runs of the section. */
static int add_dense(runs_t *runs, const descriptor_t *from, MPI_Count place, MPI_Count length)
{
    const MPI_Count element = (MPI_Count)from->element;
    int rc = place < 0 || place + length > section_elements(from) * element ? MPI_ERR_BUFFER : MPI_SUCCESS;
    while (rc == MPI_SUCCESS && length > 0) {
        const MPI_Count inner = place % element;
        const MPI_Count part = length < element - inner ? length : element - inner;
        rc = add_run(runs, section_place(from, place / element) + inner, part);
        place += part;
        length -= part;
    }
    return rc;
}

int section_as_bytes(section_t *section)
{
    MPI_Count size = 0;
    MPI_Count low = 0;
    MPI_Count extent = 0;
    runs_t of_type = {NULL, NULL, 0, 0};
    runs_t all = {NULL, NULL, 0, 0};
    (void)PMPI_Type_size_c(section->type, &size);
    (void)PMPI_Type_get_extent_c(section->type, &low, &extent);
    int rc = size > 0 ? type_runs(section->type, size, &of_type) : MPI_SUCCESS;
    for (MPI_Count n = 0; rc == MPI_SUCCESS && n < section->count; n++)
        for (MPI_Count i = 0; rc == MPI_SUCCESS && i < of_type.count; i++)
            rc = add_dense(&all, section->from, n * extent + of_type.places[i], of_type.lengths[i]);
    if (rc == MPI_SUCCESS)
        rc = PMPI_Type_create_hindexed_c(all.count, all.lengths, all.places, MPI_BYTE, &section->made);
    if (rc == MPI_SUCCESS)
        rc = PMPI_Type_commit(&section->made);
    end_runs(&of_type);
    end_runs(&all);
    return rc;
}
