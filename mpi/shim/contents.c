/* SPDX-License-Identifier: Apache-2.0
 * contents.c - the arguments that a datatype was made of: some of its integers are constants.
 */
#include "shim.h"

/* Of darray: size, rank, dimensions, [sizes], distributions, their arguments, [processes], order. Of subarray the order is the
 * last, too. The large form has sizes elsewhere. */
static void convert(int combiner, MPI_Count n, int integers[])
{
    if (combiner != MPI_COMBINER_SUBARRAY && combiner != MPI_COMBINER_DARRAY)
        return;
    integers[n - 1] = out_ORDER(integers[n - 1]);
    if (combiner != MPI_COMBINER_DARRAY)
        return;
    const MPI_Count dimensions = integers[2];
    int *distribs = integers + 3 + (n == 4 + 4 * dimensions ? dimensions : 0);
    for (MPI_Count i = 0; i < dimensions; i++) {
        distribs[i] = out_DISTRIB(distribs[i]);
        distribs[dimensions + i] = out_DARG(distribs[dimensions + i]);
    }
}

static void convert_types(MPI_Count n, MPI_Datatype from[], F_Datatype to[])
{
    for (MPI_Count i = 0; i < n; i++)
        to[i] = out_Datatype(from[i]);
}

int shim_Type_get_contents(F_Datatype datatype, int max_integers, int max_addresses, int max_datatypes,
                           int array_of_integers[], MPI_Aint array_of_addresses[], F_Datatype array_of_datatypes[])
{
    const MPI_Datatype type = in_Datatype(datatype);
    int integers = 0, addresses, types = 0, combiner = 0;
    SHIM_ARRAY(MPI_Datatype, found, shim_length(max_datatypes));
    int rc = vbnmpi_Type_get_contents(type, max_integers, max_addresses, max_datatypes, array_of_integers,
                                      array_of_addresses, array_of_datatypes == NULL ? NULL : found);
    if (rc == MPI_SUCCESS)
        rc = vbnmpi_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
    if (rc == MPI_SUCCESS) {
        convert(combiner, integers, array_of_integers);
        convert_types(types, found, array_of_datatypes);
    }
    SHIM_ARRAY_END(found);
    return out_ERRCODE(rc);
}
SHIM_NAME(Type_get_contents);

int shim_Type_get_contents_c(F_Datatype datatype, MPI_Count max_integers, MPI_Count max_addresses,
                             MPI_Count max_large_counts, MPI_Count max_datatypes, int array_of_integers[],
                             MPI_Aint array_of_addresses[], MPI_Count array_of_large_counts[],
                             F_Datatype array_of_datatypes[])
{
    const MPI_Datatype type = in_Datatype(datatype);
    MPI_Count integers = 0, addresses, counts, types = 0;
    int combiner = 0;
    SHIM_ARRAY(MPI_Datatype, found, shim_length(max_datatypes));
    int rc = vbnmpi_Type_get_contents_c(type, max_integers, max_addresses, max_large_counts, max_datatypes,
                                        array_of_integers, array_of_addresses, array_of_large_counts,
                                        array_of_datatypes == NULL ? NULL : found);
    if (rc == MPI_SUCCESS)
        rc = vbnmpi_Type_get_envelope_c(type, &integers, &addresses, &counts, &types, &combiner);
    if (rc == MPI_SUCCESS) {
        convert(combiner, integers, array_of_integers);
        convert_types(types, found, array_of_datatypes);
    }
    SHIM_ARRAY_END(found);
    return out_ERRCODE(rc);
}
SHIM_NAME(Type_get_contents_c);
