/* SPDX-License-Identifier: Apache-2.0
 * version.c - what is not of the standard ABI says so; texts.
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

void shim_text(char *to, const char *from, size_t room, int *length_p)
{
    const size_t length = strnlen(from, room - 1);
    memcpy(to, from, length);
    to[length] = 0;
    if (length_p != NULL)
        *length_p = (int)length;
}
