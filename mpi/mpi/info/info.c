/* SPDX-License-Identifier: Apache-2.0
 * info.c - info objects. MPI_INFO_ENV describes the start of this process; it is made when it is asked for and only
 * read.
 * The functions of MPI run under obj_lock, which their entry points take.
 */
#include "info/info.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "err/err.h"
#include "mpi_impl.h"
#include "rt/rt.h"

mpi_info_t *info_create(void)
{
    mpi_info_t *info = calloc(1, sizeof(*info));
    if (info == NULL)
        return NULL;
    info->obj.kind = OBJ_INFO;
    info->obj.refs = 1;
    return info;
}

void info_destroy(mpi_info_t *info)
{
    if (info == NULL)
        return;
    for (int i = 0; i < info->count; i++) {
        free(info->pairs[i].key);
        free(info->pairs[i].value);
    }
    free(info->pairs);
    obj_end(&info->obj);
    free(info);
}

static int place_of(const mpi_info_t *info, const char *key)
{
    for (int i = 0; i < info->count; i++)
        if (strcmp(info->pairs[i].key, key) == 0)
            return i;
    return -1;
}

int info_put(mpi_info_t *info, const char *key, const char *value)
{
    const int at = place_of(info, key);
    char *copy = strdup(value);
    if (copy == NULL)
        return -1;
    if (at >= 0) {
        free(info->pairs[at].value);
        info->pairs[at].value = copy;
        return 0;
    }
    if (info->count == info->room) {
        const int room = info->room == 0 ? 8 : 2 * info->room;
        info_pair_t *pairs = realloc(info->pairs, (size_t)room * sizeof(*pairs));
        if (pairs == NULL) {
            free(copy);
            return -1;
        }
        info->pairs = pairs;
        info->room = room;
    }
    info->pairs[info->count] = (info_pair_t){.key = strdup(key), .value = copy};
    if (info->pairs[info->count].key == NULL) {
        free(copy);
        return -1;
    }
    info->count++;
    return 0;
}

const char *info_value(const mpi_info_t *info, const char *key)
{
    const int at = place_of(info, key);
    return at < 0 ? NULL : info->pairs[at].value;
}

static int no_memory(void)
{
    return err_set(MPI_ERR_NO_MEM, "info: no memory left");
}

/* What is known of the start of this process. */
static const mpi_info_t *environment(void)
{
    static mpi_info_t *env;
    char text[PATH_MAX];
    struct utsname host;
    if (env != NULL || (env = info_create()) == NULL)
        return env;
    const ssize_t length = readlink("/proc/self/exe", text, sizeof(text) - 1);
    if (length > 0) {
        text[length] = 0;
        (void)info_put(env, "command", text);
    }
    if (getcwd(text, sizeof(text)) != NULL)
        (void)info_put(env, "wdir", text);
    if (uname(&host) == 0) {
        (void)info_put(env, "host", host.nodename);
        (void)info_put(env, "arch", host.machine);
    }
    snprintf(text, sizeof(text), "%d", rt.users > 0 ? rt.size : 1);
    (void)info_put(env, "maxprocs", text);
    return env;
}

/* NULL with an error set: not an info. */
static const mpi_info_t *find(MPI_Info handle)
{
    if (handle == MPI_INFO_ENV)
        return environment();
    if (obj_is(handle, OBJ_INFO))
        return (const mpi_info_t *)handle;
    (void)err_set(MPI_ERR_INFO, "info is not an info object (MPI_INFO_NULL, or freed)");
    return NULL;
}

static mpi_info_t *find_to_change(MPI_Info handle)
{
    if (handle == MPI_INFO_ENV)
        (void)err_set(MPI_ERR_INFO, "MPI_INFO_ENV cannot be changed");
    return handle == MPI_INFO_ENV ? NULL : (mpi_info_t *)(uintptr_t)find(handle);
}

static int check_key(const char *key)
{
    const size_t length = key == NULL ? 0 : strlen(key);
    return length > 0 && length < MPI_MAX_INFO_KEY
               ? MPI_SUCCESS
               : err_set(MPI_ERR_INFO_KEY, "key has %zu bytes; 1 to %d are allowed", length, MPI_MAX_INFO_KEY - 1);
}

int mpi_Info_create(MPI_Info *info)
{
    mpi_info_t *made = info_create();
    *info = made == NULL ? MPI_INFO_NULL : (MPI_Info)made;
    return made == NULL ? no_memory() : MPI_SUCCESS;
}

int mpi_Info_create_env(int argc, char *argv[], MPI_Info *info)
{
    (void)argc, (void)argv; /* the kernel knows them */
    return info_copy_locked(MPI_INFO_ENV, info);
}

int info_copy_locked(MPI_Info handle, MPI_Info *copy)
{
    mpi_info_t *made = info_create();
    const mpi_info_t *from = handle == MPI_INFO_NULL ? made : find(handle);
    int failed = made == NULL;
    for (int i = 0; from != NULL && from != made && i < from->count; i++)
        failed = failed || info_put(made, from->pairs[i].key, from->pairs[i].value) != 0;
    if (failed || from == NULL) {
        info_destroy(made);
        return failed ? no_memory() : MPI_ERR_INFO;
    }
    *copy = (MPI_Info)made;
    return MPI_SUCCESS;
}

int info_copy(MPI_Info handle, MPI_Info *copy)
{
    obj_lock();
    const int rc = info_copy_locked(handle, copy);
    obj_unlock();
    return rc;
}

#define MOST_ALIGNMENT (1LL << 40)

size_t info_alignment(MPI_Info handle)
{
    obj_lock();
    const char *value = obj_is(handle, OBJ_INFO)
                            ? info_value((const mpi_info_t *)handle, "mpi_minimum_memory_alignment")
                            : NULL;
    const long long wanted = value == NULL ? 0 : strtoll(value, NULL, 10);
    obj_unlock();
    size_t alignment = 1;
    while (wanted <= MOST_ALIGNMENT && (long long)alignment < wanted)
        alignment *= 2;
    return wanted > 0 && wanted <= MOST_ALIGNMENT ? alignment : 0;
}

int mpi_Info_dup(MPI_Info info, MPI_Info *newinfo)
{
    return find(info) == NULL ? MPI_ERR_INFO : info_copy_locked(info, newinfo);
}

int mpi_Info_free(MPI_Info *info)
{
    mpi_info_t *found = find_to_change(*info);
    if (found == NULL)
        return MPI_ERR_INFO;
    info_destroy(found);
    *info = MPI_INFO_NULL;
    return MPI_SUCCESS;
}

int mpi_Info_set(MPI_Info info, const char *key, const char *value)
{
    mpi_info_t *found = find_to_change(info);
    if (found == NULL)
        return MPI_ERR_INFO;
    if (check_key(key) != MPI_SUCCESS)
        return MPI_ERR_INFO_KEY;
    if (value == NULL || strlen(value) >= MPI_MAX_INFO_VAL)
        return err_set(MPI_ERR_INFO_VALUE, "value of %s is NULL or longer than %d bytes", key, MPI_MAX_INFO_VAL - 1);
    return info_put(found, key, value) == 0 ? MPI_SUCCESS : no_memory();
}

int mpi_Info_delete(MPI_Info info, const char *key)
{
    mpi_info_t *found = find_to_change(info);
    if (found == NULL)
        return MPI_ERR_INFO;
    if (check_key(key) != MPI_SUCCESS)
        return MPI_ERR_INFO_KEY;
    const int at = place_of(found, key);
    if (at < 0)
        return err_set(MPI_ERR_INFO_NOKEY, "info has no key %s", key);
    free(found->pairs[at].key);
    free(found->pairs[at].value);
    found->count--;
    memmove(&found->pairs[at], &found->pairs[at + 1], (size_t)(found->count - at) * sizeof(found->pairs[0]));
    return MPI_SUCCESS;
}

int mpi_Info_get_nkeys(MPI_Info info, int *nkeys)
{
    const mpi_info_t *found = find(info);
    if (found != NULL)
        *nkeys = found->count;
    return found == NULL ? MPI_ERR_INFO : MPI_SUCCESS;
}

int mpi_Info_get_nthkey(MPI_Info info, int n, char *key)
{
    const mpi_info_t *found = find(info);
    if (found == NULL)
        return MPI_ERR_INFO;
    if (n < 0 || n >= found->count)
        return err_set(MPI_ERR_ARG, "n is %d, but info has %d keys", n, found->count);
    strcpy(key, found->pairs[n].key);
    return MPI_SUCCESS;
}

/* The value of a key, NULL when there is none; the class of an error otherwise. */
static int look_up(MPI_Info info, const char *key, const char **value_p)
{
    const mpi_info_t *found = find(info);
    *value_p = NULL;
    if (found == NULL)
        return MPI_ERR_INFO;
    if (check_key(key) != MPI_SUCCESS)
        return MPI_ERR_INFO_KEY;
    const int at = place_of(found, key);
    *value_p = at < 0 ? NULL : found->pairs[at].value;
    return MPI_SUCCESS;
}

/* buflen: in the room, 0: none is wanted; out what the value needs with its end. */
int mpi_Info_get_string(MPI_Info info, const char *key, int *buflen, char *value, int *flag)
{
    const char *found;
    const int rc = look_up(info, key, &found);
    *flag = found != NULL;
    if (rc != MPI_SUCCESS || found == NULL)
        return rc;
    if (*buflen > 0 && value == NULL)
        return err_set(MPI_ERR_ARG, "value is NULL, and buflen %d", *buflen);
    if (*buflen > 0)
        snprintf(value, (size_t)*buflen, "%s", found);
    *buflen = (int)strlen(found) + 1;
    return MPI_SUCCESS;
}

/* valuelen is the room without the end. */
int mpi_Info_get(MPI_Info info, const char *key, int valuelen, char *value, int *flag)
{
    const char *found;
    const int rc = look_up(info, key, &found);
    *flag = found != NULL;
    if (rc == MPI_SUCCESS && found != NULL && value == NULL)
        return err_set(MPI_ERR_ARG, "value is NULL");
    if (rc == MPI_SUCCESS && found != NULL && valuelen >= 0)
        snprintf(value, (size_t)valuelen + 1, "%s", found);
    return rc;
}

int mpi_Info_get_valuelen(MPI_Info info, const char *key, int *valuelen, int *flag)
{
    const char *found;
    const int rc = look_up(info, key, &found);
    *flag = found != NULL;
    if (found != NULL)
        *valuelen = (int)strlen(found);
    return rc;
}

int mpi_Abi_get_info(MPI_Info *info)
{
    static const char *const keys[] = {"mpi_aint_size", "mpi_count_size", "mpi_offset_size"};
    mpi_info_t *made = info_create();
    for (int i = 0; made != NULL && i < 3; i++)
        if (info_put(made, keys[i], "8") != 0)
            return no_memory();
    *info = (MPI_Info)made;
    return made == NULL ? no_memory() : MPI_SUCCESS;
}

/* A node has no parts that we know of (Comm_split_type finds none either): no kind of resource has a key. */
int mpi_Get_hw_resource_info(MPI_Info *hw_info)
{
    return mpi_Info_create(hw_info);
}
