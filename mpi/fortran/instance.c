/* SPDX-License-Identifier: Apache-2.0
 * instance.c - functions that begin the library, that give values, or that take what Fortran does not have.
 */
#include "fortran.h"

#include <string.h>

FORTRAN(init, INIT, (int *ierror))
{
    *ierror = C(Init)(NULL, NULL);
    if (*ierror == MPI_SUCCESS)
        fortran_kinds();
}

FORTRAN(init_thread, INIT_THREAD, (const int *required, int *provided, int *ierror))
{
    *ierror = C(Init_thread)(NULL, NULL, *required, provided);
    if (*ierror == MPI_SUCCESS)
        fortran_kinds();
}

FORTRAN(pcontrol, PCONTROL, (const int *level))
{
    (void)C(Pcontrol)(*level);
}

FORTRAN_FUNCTION(wtime, WTIME, double, (void))
{
    return C(Wtime)();
}

FORTRAN_FUNCTION(wtick, WTICK, double, (void))
{
    return C(Wtick)();
}

FORTRAN_FUNCTION(aint_add, AINT_ADD, MPI_Aint, (const MPI_Aint *base, const MPI_Aint *disp))
{
    return C(Aint_add)(*base, *disp);
}

FORTRAN_FUNCTION(aint_diff, AINT_DIFF, MPI_Aint, (const MPI_Aint *addr1, const MPI_Aint *addr2))
{
    return C(Aint_diff)(*addr1, *addr2);
}

FORTRAN(info_create_env, INFO_CREATE_ENV, (int *info, int *ierror))
{
    MPI_Info made = MPI_INFO_NULL;
    *ierror = C(Info_create_env)(0, NULL, &made);
    *info = out_Info(made);
}

/* The buffer's address is what the program gets: it has a pointer of C, or an integer of that size. */
FORTRAN(buffer_detach, BUFFER_DETACH, (void **buffer, int *size, int *ierror))
{
    *ierror = C(Buffer_detach)(buffer, size);
}

FORTRAN(comm_detach_buffer, COMM_DETACH_BUFFER, (const int *comm, void **buffer, int *size, int *ierror))
{
    *ierror = C(Comm_detach_buffer)(in_Comm(*comm), buffer, size);
}

FORTRAN(session_detach_buffer, SESSION_DETACH_BUFFER, (const int *session, void **buffer, int *size, int *ierror))
{
    *ierror = C(Session_detach_buffer)(in_Session(*session), buffer, size);
}

/* A length of 0 asks for the length alone, and then the string is not looked at. Fortran's lengths count no end of string. */
FORTRAN(session_get_nth_pset, SESSION_GET_NTH_PSET,
        (const int *session, const int *info, const int *n, int *pset_len, char *pset_name, int *ierror, size_t length))
{
    char name[MPI_MAX_PSET_NAME_LEN] = "";
    int room = *pset_len > 0 ? MPI_MAX_PSET_NAME_LEN : 0;
    *ierror = C(Session_get_nth_pset)(in_Session(*session), in_Info(*info), *n, &room, name);
    if (*ierror != MPI_SUCCESS)
        return;
    if (*pset_len > 0)
        fortran_text_out(pset_name, length, name);
    *pset_len = room > 0 ? room - 1 : 0;
}

FORTRAN(info_get, INFO_GET,
        (const int *info, const char *key, const int *valuelen, char *value, int *flag, int *ierror, size_t key_length,
         size_t length))
{
    char found[MPI_MAX_INFO_VAL] = "";
    char *name = fortran_text_in(key, key_length, 1);
    if (name == NULL) {
        *ierror = MPI_ERR_NO_MEM;
        return;
    }
    const size_t asked = length_of(*valuelen);
    *ierror = C(Info_get)(in_Info(*info), name, MPI_MAX_INFO_VAL - 1, found, flag);
    if (*ierror == MPI_SUCCESS && *flag)
        fortran_text_out(value, asked < length ? asked : length, found);
    if (*ierror == MPI_SUCCESS && *flag && asked < length)
        memset(value + asked, ' ', length - asked);
    free(name);
}

FORTRAN(info_get_string, INFO_GET_STRING,
        (const int *info, const char *key, int *buflen, char *value, int *flag, int *ierror, size_t key_length,
         size_t length))
{
    char found[MPI_MAX_INFO_VAL] = "";
    int room = MPI_MAX_INFO_VAL;
    char *name = fortran_text_in(key, key_length, 1);
    if (name == NULL) {
        *ierror = MPI_ERR_NO_MEM;
        return;
    }
    *ierror = C(Info_get_string)(in_Info(*info), name, &room, found, flag);
    if (*ierror == MPI_SUCCESS && *flag) {
        const size_t asked = length_of(*buflen);
        if (asked > 0) {
            memset(value, ' ', length);
            fortran_text_out(value, asked < length ? asked : length, found);
        }
        *buflen = room > 0 ? room - 1 : 0;
    }
    free(name);
}
