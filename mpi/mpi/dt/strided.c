/* SPDX-License-Identifier: Apache-2.0
 * strided.c - constructors of regular datatypes: contiguous, vector, hvector; resized, dup.
 */
#include "dt/attr.h"
#include "dt/make.h"
#include "err/err.h"
#include "mpi_impl.h"

int mpi_Type_contiguous(MPI_Count count, MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    dt_draft_t draft = {0};
    const dt_argument_t argument = {.kind = DT_COUNT, .n = 1, .values = &count};
    dt_draft_strided(&draft, dt_find(oldtype), 1, count, 0);
    return dt_draft_end(&draft, MPI_COMBINER_CONTIGUOUS, &argument, 1, &oldtype, 1, newtype);
}

int mpi_Type_vector(MPI_Count count, MPI_Count blocklength, MPI_Count stride, MPI_Datatype oldtype,
                    MPI_Datatype *newtype)
{
    dt_draft_t draft = {0};
    const MPI_Count values[] = {count, blocklength, stride};
    const dt_argument_t argument = {.kind = DT_COUNT, .n = 3, .values = values};
    dt_type_t *old = dt_find(oldtype);
    const MPI_Aint bytes = dt_draft_times(&draft, (MPI_Aint)stride, (MPI_Aint)old->extent);
    dt_draft_strided(&draft, old, count, blocklength, bytes);
    return dt_draft_end(&draft, MPI_COMBINER_VECTOR, &argument, 1, &oldtype, 1, newtype);
}

int mpi_Type_create_hvector(MPI_Count count, MPI_Count blocklength, MPI_Count stride, MPI_Datatype oldtype,
                            MPI_Datatype *newtype)
{
    dt_draft_t draft = {0};
    const MPI_Count values[] = {count, blocklength};
    const dt_argument_t arguments[] = {{.kind = DT_COUNT, .n = 2, .values = values},
                                       {.kind = DT_ADDRESS, .n = 1, .values = &stride}};
    dt_draft_strided(&draft, dt_find(oldtype), count, blocklength, (MPI_Aint)stride);
    return dt_draft_end(&draft, MPI_COMBINER_HVECTOR, arguments, 2, &oldtype, 1, newtype);
}

int mpi_Type_create_resized(MPI_Datatype oldtype, MPI_Count lb, MPI_Count extent, MPI_Datatype *newtype)
{
    dt_draft_t draft = {0};
    const MPI_Count values[] = {lb, extent};
    const dt_argument_t argument = {.kind = DT_ADDRESS, .n = 2, .values = values};
    dt_draft_strided(&draft, dt_find(oldtype), 1, 1, 0);
    dt_draft_resize(&draft, (MPI_Aint)lb, (MPI_Aint)extent);
    return dt_draft_end(&draft, MPI_COMBINER_RESIZED, &argument, 1, &oldtype, 1, newtype);
}

/* Also committed when the old one is; with what the copy functions of its attributes let through. */
int mpi_Type_dup(MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    dt_draft_t draft = {0};
    dt_type_t *old = dt_find(oldtype);
    dt_draft_strided(&draft, old, 1, 1, 0);
    int rc = dt_draft_end(&draft, MPI_COMBINER_DUP, NULL, 0, &oldtype, 1, newtype);
    if (rc != MPI_SUCCESS)
        return rc;
    dt_type_t *made = dt_find(*newtype);
    made->sticky = old->sticky;
    made->lb = old->lb;
    made->extent = old->extent;
    made->committed = old->committed;
    rc = dt_attr_copy(old, made);
    if (rc != MPI_SUCCESS) {
        dt_release(made);
        *newtype = MPI_DATATYPE_NULL;
    }
    return rc;
}
