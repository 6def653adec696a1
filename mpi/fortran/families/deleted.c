/* SPDX-License-Identifier: Apache-2.0
 * deleted.c - functions of MPI-1 that MPI 3.0 has deleted. Their addresses and extents are default INTEGERs.
 */
#include "fortran.h"

FORTRAN(address, ADDRESS, (const void *location, int *address, int *ierror))
{
    MPI_Aint place = 0;
    const int code = C(Address)(in_buffer(location), &place);
    *address = (int)place;
    FORTRAN_RETURN(code);
}

#define MEASURES(lower, upper, name)                                                                                   \
    FORTRAN(lower, upper, (const int *datatype, int *measured, int *ierror))                                           \
    {                                                                                                                  \
        MPI_Aint wide = 0;                                                                                             \
        const int code = C(name)(in_Type(*datatype), &wide);                                                           \
        *measured = (int)wide;                                                                                         \
        FORTRAN_RETURN(code);                                                                                          \
    }
MEASURES(type_extent, TYPE_EXTENT, Type_extent)
MEASURES(type_lb, TYPE_LB, Type_lb)
MEASURES(type_ub, TYPE_UB, Type_ub)

FORTRAN(type_hvector, TYPE_HVECTOR,
        (const int *count, const int *length, const int *stride, const int *old, int *made, int *ierror))
{
    MPI_Datatype type = in_Type(*old);
    const int code = C(Type_hvector)(*count, *length, *stride, type, &type);
    if (code == MPI_SUCCESS)
        *made = out_Type(type);
    FORTRAN_RETURN(code);
}

FORTRAN(type_hindexed, TYPE_HINDEXED,
        (const int *count, const int *lengths, const int *places, const int *old, int *made, int *ierror))
{
    const size_t n = length_of(*count);
    MPI_Datatype type = in_Type(*old);
    FORTRAN_ARRAY(MPI_Aint, wide, n);
    for (size_t i = 0; i < n; i++)
        wide[i] = places[i];
    const int code = C(Type_hindexed)(*count, lengths, wide, type, &type);
    if (code == MPI_SUCCESS)
        *made = out_Type(type);
    FORTRAN_ARRAY_END(wide);
    FORTRAN_RETURN(code);
}

FORTRAN(type_struct, TYPE_STRUCT,
        (const int *count, const int *lengths, const int *places, const int *olds, int *made, int *ierror))
{
    const size_t n = length_of(*count);
    MPI_Datatype type = MPI_DATATYPE_NULL;
    FORTRAN_ARRAY(MPI_Aint, wide, n);
    FORTRAN_ARRAY(MPI_Datatype, types, n);
    for (size_t i = 0; i < n; i++) {
        wide[i] = places[i];
        types[i] = in_Type(olds[i]);
    }
    const int code = C(Type_struct)(*count, lengths, wide, types, &type);
    if (code == MPI_SUCCESS)
        *made = out_Type(type);
    FORTRAN_ARRAY_END(wide);
    FORTRAN_ARRAY_END(types);
    FORTRAN_RETURN(code);
}
