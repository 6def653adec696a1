/* SPDX-License-Identifier: Apache-2.0
 * help.c - strings, lengths of arrays, the kinds of the compiler.
 */
#include "fortran.h"

#include <string.h>

char *fortran_text_in(const char *text, size_t length, int lead)
{
    while (length > 0 && text[length - 1] == ' ')
        length--;
    for (; lead && length > 0 && *text == ' '; length--)
        text++;
    char *copy = malloc(length + 1);
    if (copy == NULL)
        return NULL;
    memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

void fortran_text_out(char *text, size_t length, const char *from)
{
    const size_t has = strlen(from);
    const size_t copied = has < length ? has : length;
    memcpy(text, from, copied);
    memset(text + copied, ' ', length - copied);
}

size_t fortran_length_comm(MPI_Comm comm)
{
    int inter = 0;
    int size = 0;
    (void)PMPI_Comm_test_inter(comm, &inter);
    (void)(inter ? PMPI_Comm_remote_size(comm, &size) : PMPI_Comm_size(comm, &size));
    return length_of(size);
}

static void neighbours(MPI_Comm comm, int *in, int *out)
{
    int kind = MPI_UNDEFINED;
    int rank;
    int weighted;
    *in = *out = 0;
    (void)PMPI_Topo_test(comm, &kind);
    if (kind == MPI_DIST_GRAPH) {
        (void)PMPI_Dist_graph_neighbors_count(comm, in, out, &weighted);
    } else if (kind == MPI_GRAPH) {
        (void)PMPI_Comm_rank(comm, &rank);
        (void)PMPI_Graph_neighbors_count(comm, rank, in);
        *out = *in;
    } else if (kind == MPI_CART) {
        (void)PMPI_Cartdim_get(comm, in);
        *out = *in *= 2;
    }
}

size_t fortran_length_in(MPI_Comm comm)
{
    int in;
    int out;
    neighbours(comm, &in, &out);
    return length_of(in);
}

size_t fortran_length_out(MPI_Comm comm)
{
    int in;
    int out;
    neighbours(comm, &in, &out);
    return length_of(out);
}

void fortran_kinds(void)
{
    static const char *const sizes[][2] = {{"mpi_logical_size", "4"},
                                           {"mpi_integer_size", "4"},
                                           {"mpi_real_size", "4"},
                                           {"mpi_double_precision_size", "8"}};
    MPI_Info info = MPI_INFO_NULL;
    if (PMPI_Abi_get_fortran_info(&info) == MPI_SUCCESS && info != MPI_INFO_NULL) {
        (void)PMPI_Info_free(&info); /* somebody has said it */
        return;
    }
    if (PMPI_Info_create(&info) != MPI_SUCCESS)
        return;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        (void)PMPI_Info_set(info, sizes[i][0], sizes[i][1]);
    (void)PMPI_Abi_set_fortran_info(info);
    (void)PMPI_Info_free(&info);
}
