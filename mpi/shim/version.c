/* SPDX-License-Identifier: Apache-2.0
 * version.c - what is not of the standard ABI says so; codes that only the family has; texts.
 */
#include "shim.h"

#include <string.h>

/* A program that looks for the standard ABI must not take this library for it (MPI 5.0, 20.4). */
int shim_Abi_get_version(int *abi_major, int *abi_minor)
{
    if (abi_major == NULL || abi_minor == NULL)
        return out_ERRCODE(MPI_ERR_ARG);
    *abi_major = *abi_minor = -1;
    return MPI_SUCCESS;
}
SHIM_NAME(Abi_get_version);

/* Programs do without the constants of later levels where their header lacks them. */
int shim_Get_version(int *version, int *subversion)
{
    if (version == NULL || subversion == NULL)
        return out_ERRCODE(MPI_ERR_ARG);
    *version = F_VERSION;
    *subversion = F_SUBVERSION;
    return MPI_SUCCESS;
}
SHIM_NAME(Get_version);

/* A class of the family that the standard lacks is one all the same, though no call here gives it. */
int shim_Error_class(int errorcode, int *errorclass)
{
    int found = MPI_SUCCESS;
    const int rc = vbnmpi_Error_class(in_ERRCODE(errorcode), errorclass == NULL ? NULL : &found);
    if (rc == MPI_SUCCESS)
        *errorclass = shim_is_foreign(errorcode) ? errorcode : out_ERRCODE(found);
    return out_ERRCODE(rc);
}
SHIM_NAME(Error_class);

/* The program may keep any number in a status, not only codes. */
int shim_Status_get_error(const F_Status *status, int *error)
{
    if (!shim_has_status(status) || error == NULL)
        return out_ERRCODE(MPI_ERR_ARG);
    *error = status->MPI_ERROR;
    return MPI_SUCCESS;
}
SHIM_NAME(Status_get_error);

int shim_Status_set_error(F_Status *status, int error)
{
    if (!shim_has_status(status))
        return out_ERRCODE(MPI_ERR_ARG);
    status->MPI_ERROR = error;
    return MPI_SUCCESS;
}
SHIM_NAME(Status_set_error);

void shim_text(char *to, const char *from, size_t room, int *length_p)
{
    const size_t length = strnlen(from, room - 1);
    memcpy(to, from, length);
    to[length] = 0;
    if (length_p != NULL)
        *length_p = (int)length;
}
