/* SPDX-License-Identifier: Apache-2.0
 * numbers.c - MPI_Comm_c2f and its like, which the standard ABI does not have: predefined handles have the numbers of the family's
 * mpif.h, objects those that the library gives (mpi/obj/number.c), which begin at 0x1000.
 */
#include "shim.h"

#include <string.h>

#define FIRST 0x1000

/* -1: the family has no number for it. */
static int number_of_predefined(uintptr_t handle)
{
    return handle < SHIM_PREDEFINED ? shim_fortran[handle] - 1 : -1;
}

static uintptr_t predefined_of(const uint16_t numbers[], int number, uintptr_t null)
{
    return number >= 0 && number < SHIM_NUMBERS && numbers[number] != 0 ? numbers[number] : null;
}

#define NUMBERS(type, null)                                                                                            \
    int shim_##type##_c2f(F_##type handle) SHIM_PUBLIC(PMPI_##type##_c2f);                                             \
    F_##type shim_##type##_f2c(int number) SHIM_PUBLIC(PMPI_##type##_f2c);                                             \
    int shim_##type##_c2f(F_##type handle)                                                                             \
    {                                                                                                                  \
        const uintptr_t found = (uintptr_t)in_##type(handle);                                                          \
        return found < FIRST ? number_of_predefined(found) : vbnmpi_##type##_toint((void *)found);                     \
    }                                                                                                                  \
    SHIM_NAME(type##_c2f);                                                                                             \
    F_##type shim_##type##_f2c(int number)                                                                             \
    {                                                                                                                  \
        if (number < FIRST)                                                                                            \
            return out_##type((void *)predefined_of(shim_numbers_##type, number, (uintptr_t)(null)));                  \
        return out_##type((void *)vbnmpi_##type##_fromint(number));                                                    \
    }                                                                                                                  \
    SHIM_NAME(type##_f2c)

/* The functions of datatypes are called MPI_Type_. */
typedef F_Datatype F_Type;
#define in_Type in_Datatype
#define out_Type out_Datatype
#define shim_numbers_Type shim_numbers_Datatype

NUMBERS(Comm, MPI_COMM_NULL);
NUMBERS(Errhandler, MPI_ERRHANDLER_NULL);
NUMBERS(File, MPI_FILE_NULL);
NUMBERS(Group, MPI_GROUP_NULL);
NUMBERS(Info, MPI_INFO_NULL);
NUMBERS(Message, MPI_MESSAGE_NULL);
NUMBERS(Op, MPI_OP_NULL);
NUMBERS(Request, MPI_REQUEST_NULL);
NUMBERS(Session, MPI_SESSION_NULL);
NUMBERS(Type, MPI_DATATYPE_NULL);
NUMBERS(Win, MPI_WIN_NULL);

/* A status in Fortran is the integers of one in C. */
int shim_Status_c2f(const F_Status *c_status, int *f_status) SHIM_PUBLIC(PMPI_Status_c2f);
int shim_Status_c2f(const F_Status *c_status, int *f_status)
{
    if (c_status == F_STATUS_IGNORE || c_status == F_STATUSES_IGNORE || f_status == NULL)
        return out_ERRCODE(MPI_ERR_ARG);
    memcpy(f_status, c_status, sizeof(*c_status));
    return MPI_SUCCESS;
}
SHIM_NAME(Status_c2f);

int shim_Status_f2c(const int *f_status, F_Status *c_status) SHIM_PUBLIC(PMPI_Status_f2c);
int shim_Status_f2c(const int *f_status, F_Status *c_status)
{
    if (c_status == F_STATUS_IGNORE || c_status == F_STATUSES_IGNORE || f_status == NULL)
        return out_ERRCODE(MPI_ERR_ARG);
    memcpy(c_status, f_status, sizeof(*c_status));
    return MPI_SUCCESS;
}
SHIM_NAME(Status_f2c);
