/* SPDX-License-Identifier: Apache-2.0
 * instance.c - functions that begin the library, that give values, or that take what Fortran does not have.
 */
#include "fortran.h"

#include <string.h>

FORTRAN(init, INIT, (int *ierror))
{
    FORTRAN_CODE;
    *ierror = C(Init)(NULL, NULL);
    if (*ierror == MPI_SUCCESS)
        fortran_kinds();
}

FORTRAN(init_thread, INIT_THREAD, (const int *required, int *provided, int *ierror))
{
    FORTRAN_CODE;
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
    FORTRAN_CODE;
    MPI_Info made = MPI_INFO_NULL;
    *ierror = C(Info_create_env)(0, NULL, &made);
    *info = out_Info(made);
}

/* The buffer's address is what the program gets: it has a pointer of C, or an integer of that size. */
#define DETACHES(lower, upper, name, count)                                                                            \
    FORTRAN(buffer_##lower, BUFFER_##upper, (void **buffer, count *size, int *ierror))                                 \
    {                                                                                                                  \
        FORTRAN_CODE;                                                                                                  \
        *ierror = C(Buffer_##name)(buffer, size);                                                                      \
    }
#define DETACHES_OF(object, upper, kind, lower, upper_end, end, count)                                                 \
    FORTRAN(object##_detach_buffer##lower, upper##_DETACH_BUFFER##upper_end,                                           \
            (const int *object, void **buffer, count *size, int *ierror))                                              \
    {                                                                                                                  \
        FORTRAN_CODE;                                                                                                  \
        *ierror = C(kind##_detach_buffer##end)(in_##kind(*object), buffer, size);                                      \
    }
DETACHES(detach, DETACH, detach, int)
DETACHES(detach_c, DETACH_C, detach_c, MPI_Count)
DETACHES_OF(comm, COMM, Comm, , , , int)
DETACHES_OF(comm, COMM, Comm, _c, _C, _c, MPI_Count)
DETACHES_OF(session, SESSION, Session, , , , int)
DETACHES_OF(session, SESSION, Session, _c, _C, _c, MPI_Count)

/* A length of 0 asks for the length alone, and then the string is not looked at. Fortran's lengths count no end of string. */
FORTRAN(session_get_nth_pset, SESSION_GET_NTH_PSET,
        (const int *session, const int *info, const int *n, int *pset_len, char *pset_name, int *ierror, size_t length))
{
    FORTRAN_CODE;
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
    FORTRAN_CODE;
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
    FORTRAN_CODE;
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

/* Keeps the compiler from moving accesses of a variable over the call. */
FORTRAN_FUNCTION(f_sync_reg, F_SYNC_REG, void, (void *buffer))
{
    (void)buffer;
}

/* A status of mpi_f08 has the same bytes. */
FORTRAN(status_f2f08, STATUS_F2F08, (const int *f_status, int *f08_status, int *ierror))
{
    FORTRAN_CODE;
    memcpy(f08_status, f_status, sizeof(MPI_Status));
    *ierror = MPI_SUCCESS;
}

FORTRAN(status_f082f, STATUS_F082F, (const int *f08_status, int *f_status, int *ierror))
{
    FORTRAN_CODE;
    memcpy(f_status, f08_status, sizeof(MPI_Status));
    *ierror = MPI_SUCCESS;
}
