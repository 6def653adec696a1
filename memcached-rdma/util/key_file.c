/* SPDX-License-Identifier: Apache-2.0
 * key_file.c - where the key is, and making it. */
#include "util/key_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/os.h"

static bool fail(char error[KEY_FILE_ERROR], const char *path, const char *why, const char *cure)
{
    (void)snprintf(error, KEY_FILE_ERROR, "key file %.300s: %s; %s", path, why, cure);
    return false;
}

/* A name for a socket's path, the same in every process: its FNV-1a. */
static uint64_t path_number(const char *path)
{
    uint64_t number = UINT64_C(0xcbf29ce484222325);
    for (; *path != '\0'; path++)
        number = (number ^ (unsigned char)*path) * UINT64_C(0x100000001b3);
    return number;
}

static bool name_file(const key_server_t *server, const char *folder, char *path, size_t capacity)
{
    char real[PATH_MAX];
    const char *socket_path = server->socket_path;
    int length = socket_path == NULL ? snprintf(path, capacity, "%s/memcached-%d.key", folder, server->port)
                                     : snprintf(path, capacity, "%s/memcached-%016llx.key", folder,
                                                (unsigned long long)path_number(
                                                    realpath(socket_path, real) != NULL ? real : socket_path));
    return length > 0 && (size_t)length < capacity;
}

/* That of the login session. False: there is none, or it is another user's, as after su or the server's -u. */
static bool session_folder(char folder[PATH_MAX])
{
    const char *session = getenv("XDG_RUNTIME_DIR");
    struct stat info;
    if (session == NULL || *session != '/' || stat(session, &info) != 0 || !S_ISDIR(info.st_mode) ||
        info.st_uid != geteuid())
        return false;
    int length = snprintf(folder, PATH_MAX, "%s/verbena", session);
    return length > 0 && length < PATH_MAX;
}

/* Whoever has no session (root, services, containers) uses a folder in /tmp. Others could have made it before. */
static bool own_folder(char folder[PATH_MAX], bool make, char error[KEY_FILE_ERROR])
{
    struct stat info;
    (void)snprintf(folder, PATH_MAX, "/tmp/verbena-%u", (unsigned)geteuid());
    if (make && mkdir(folder, 0700) != 0 && errno != EEXIST)
        return fail(error, folder, strerror(errno), "name a key file of your own");
    if (lstat(folder, &info) != 0)
        return make ? fail(error, folder, strerror(errno), "name a key file of your own") : true;
    if (!S_ISDIR(info.st_mode) || info.st_uid != geteuid() || (info.st_mode & 077) != 0)
        return fail(error, folder, "is no folder that is this user's alone (mode 0700)",
                    "remove it, or name a key file of your own");
    return true;
}

bool key_file_place(const key_server_t *server, char *path, size_t capacity, char error[KEY_FILE_ERROR])
{
    char folder[PATH_MAX];
    if (!session_folder(folder) && !own_folder(folder, true, error))
        return false;
    return name_file(server, folder, path, capacity) ||
           fail(error, folder, "is too long a path", "name a key file of your own");
}

bool key_file_find(const key_server_t *server, char *path, size_t capacity, char error[KEY_FILE_ERROR])
{
    char folder[PATH_MAX];
    if (session_folder(folder) && name_file(server, folder, path, capacity) && access(path, F_OK) == 0)
        return true;
    return own_folder(folder, false, error) && name_file(server, folder, path, capacity);
}

static bool make_folder(const char *path, char error[KEY_FILE_ERROR])
{
    char folder[PATH_MAX];
    (void)snprintf(folder, sizeof(folder), "%s", path);
    char *slash = strrchr(folder, '/');
    if (slash == NULL || slash == folder)
        return true;
    *slash = '\0';
    if (mkdir(folder, 0700) == 0 || errno == EEXIST)
        return true;
    return fail(error, path, strerror(errno), "make its folder");
}

bool key_file_make(const char *path, char error[KEY_FILE_ERROR])
{
    if (access(path, F_OK) == 0)
        return true;
    if (!make_folder(path, error))
        return false;
    vbn_status_t status = key_file_new(path);
    if (status == VBN_OK || status == VBN_ERR_IN_USE) /* another server has made it meanwhile */
        return true;
    (void)snprintf(error, KEY_FILE_ERROR, "%s", err_text());
    return false;
}

bool key_file_share(const char *path, const char *other, char error[KEY_FILE_ERROR])
{
    char fresh[PATH_MAX]; /* a name that nobody else has, nor a process that ended in between has left */
    uint64_t random;
    os_random(&random, sizeof(random));
    int length = snprintf(fresh, sizeof(fresh), "%s.%016llx", other, (unsigned long long)random);
    errno = ENAMETOOLONG;
    if (length > 0 && (size_t)length < sizeof(fresh) && link(path, fresh) == 0) {
        if (rename(fresh, other) == 0) {
            (void)unlink(fresh); /* it stays where both names were this file already */
            return true;
        }
        int why = errno;
        (void)unlink(fresh);
        errno = why;
    }
    return fail(error, other, strerror(errno), "name a key file of your own");
}
