/* SPDX-License-Identifier: Apache-2.0
 * key_file.c - where the key is, reading it, making it. */
#include "util/key_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/key_text.h"
#include "base/os.h"

#define DIGITS (2 * KEY_FILE_BYTES)

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

static int digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool decode(const char *text, uint8_t key[KEY_FILE_BYTES])
{
    if (strlen(text) < DIGITS || text[DIGITS + strspn(text + DIGITS, " \r\n")] != '\0')
        return false;
    for (unsigned i = 0; i < KEY_FILE_BYTES; i++) {
        int high = digit_of(text[2 * i]), low = digit_of(text[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        key[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

static bool refuse_open(char error[KEY_FILE_ERROR], const char *path, unsigned mode)
{
    (void)snprintf(error, KEY_FILE_ERROR, KEY_TEXT_OPEN, path, mode, path);
    return false;
}

static bool refuse_owner(char error[KEY_FILE_ERROR], const char *path, unsigned owner)
{
    char why[64];
    (void)snprintf(why, sizeof(why), "belongs to user %u, who knows the key", owner);
    return fail(error, path, why, "see that this user, or root, owns it (chown)");
}

/* The file may be readable for a group, unlike a job's: the server's user and its clients' are often different ones. */
static bool is_private(int fd, const char *path, bool of_others, char error[KEY_FILE_ERROR])
{
    struct stat info;
    if (fstat(fd, &info) != 0)
        return fail(error, path, strerror(errno), "see that it is a plain file");
    if (!S_ISREG(info.st_mode))
        return fail(error, path, "is no plain file", "give another one");
    if ((info.st_mode & 0137) != 0)
        return refuse_open(error, path, (unsigned)info.st_mode & 07777);
    if (!of_others && info.st_uid != geteuid() && info.st_uid != 0)
        return refuse_owner(error, path, (unsigned)info.st_uid);
    return true;
}

bool key_file_read(const char *path, bool of_others, uint8_t key[KEY_FILE_BYTES], char error[KEY_FILE_ERROR])
{
    char text[DIGITS + 8] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe without a writer would be waited for */
    if (fd < 0)
        return fail(error, path, strerror(errno), "give a key file that this user may read");
    bool ok = is_private(fd, path, of_others, error);
    if (ok && read(fd, text, sizeof(text) - 1) < 0)
        ok = fail(error, path, strerror(errno), "give a key file that this user may read");
    else if (ok && !decode(text, key))
        ok = fail(error, path, "does not hold 64 hexadecimal digits", "let the server make a new one");
    (void)close(fd);
    explicit_bzero(text, sizeof(text));
    return ok;
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

static bool write_key(int fd)
{
    uint8_t key[KEY_FILE_BYTES];
    char text[DIGITS + 2];
    os_random(key, sizeof(key));
    for (unsigned i = 0; i < KEY_FILE_BYTES; i++)
        (void)snprintf(text + 2 * i, 3, "%02x", key[i]);
    text[DIGITS] = '\n';
    return write(fd, text, DIGITS + 1) == DIGITS + 1;
}

bool key_file_make(const char *path, char error[KEY_FILE_ERROR])
{
    char fresh[PATH_MAX];
    if (access(path, F_OK) == 0)
        return true;
    if (!make_folder(path, error))
        return false;
    int length = snprintf(fresh, sizeof(fresh), "%s.%ld", path, (long)getpid());
    int fd = length > 0 && (size_t)length < sizeof(fresh) ? open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)
                                                          : -1;
    if (fd < 0)
        return fail(error, path, strerror(errno), "make its folder writable, or give another file");
    bool ok = write_key(fd);
    (void)close(fd);
    /* Whole or not at all: a client may be reading, and another server making the same one. */
    ok = ok && (link(fresh, path) == 0 || errno == EEXIST);
    int why = errno;
    (void)unlink(fresh);
    return ok || fail(error, path, strerror(why), "make its folder writable, or give another file");
}

bool key_file_share(const char *path, const char *other, char error[KEY_FILE_ERROR])
{
    char fresh[PATH_MAX];
    int length = snprintf(fresh, sizeof(fresh), "%s.%ld", other, (long)getpid());
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
