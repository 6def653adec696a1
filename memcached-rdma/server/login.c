/* SPDX-License-Identifier: Apache-2.0
 * login.c - users of -Y. */
#include "server/login.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The bytes of the file; -1: errno says why, E2BIG: it is too large. */
static ssize_t read_file(const char *path, char text[LOGIN_FILE_MAX])
{
    size_t length = 0;
    ssize_t got = 1;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    while (got > 0 && length < LOGIN_FILE_MAX) {
        got = read(fd, text + length, LOGIN_FILE_MAX - length);
        length += got > 0 ? (size_t)got : 0;
    }
    int error = got < 0 ? errno : length == LOGIN_FILE_MAX ? E2BIG : 0;
    (void)close(fd);
    errno = error;
    return error == 0 ? (ssize_t)length : -1;
}

/* The users of the file, for free(); NULL: a line on stderr says why. */
static login_users_t *read_users(const server_t *server)
{
    const char *path = server->login_path, *error = NULL;
    login_users_t *users = malloc(sizeof(*users));
    char *text = malloc(LOGIN_FILE_MAX);
    unsigned line = 0;
    ssize_t length = -1;
    if (users != NULL && text != NULL)
        length = read_file(path, text);
    if (length < 0)
        log_line(server, 0, "-Y %s: %s; give a file that this user can read", path, strerror(errno));
    else
        error = login_read(text, (size_t)length, users, &line);
    if (error != NULL)
        log_line(server, 0, "-Y %s: line %u %s; give lines USER:PASSWORD", path, line, error);
    if (text != NULL)
        explicit_bzero(text, LOGIN_FILE_MAX);
    free(text);
    if (length >= 0 && error == NULL)
        return users;
    free(users);
    return NULL;
}

/* A daemon is in /, and the file is where it was named. */
static bool find_path(server_t *server)
{
    const char *file = server->settings.login_file;
    char here[sizeof(server->login_path)] = "";
    if (*file != '/' && getcwd(here, sizeof(here)) == NULL) {
        log_line(server, 0, "-Y %s: %s; give the file by its whole path", file, strerror(errno));
        return false;
    }
    int length = snprintf(server->login_path, sizeof(server->login_path), "%s%s%s", here, *file == '/' ? "" : "/",
                          file);
    if (length < (int)sizeof(server->login_path))
        return true;
    log_line(server, 0, "-Y %s: the path is too long; give a shorter one", file);
    return false;
}

bool login_open(server_t *server)
{
    pthread_mutex_init(&server->users_lock, NULL);
    if (!login_is_needed(server))
        return true;
    if (!find_path(server))
        return false;
    server->users = read_users(server);
    return server->users != NULL;
}

static void forget(login_users_t *users)
{
    if (users != NULL)
        explicit_bzero(users, sizeof(*users));
    free(users);
}

void login_reload(server_t *server)
{
    if (!login_is_needed(server))
        return;
    login_users_t *users = read_users(server);
    if (users == NULL) {
        log_line(server, 0, "-Y %s: the users stay as they are", server->login_path);
        return;
    }
    pthread_mutex_lock(&server->users_lock);
    login_users_t *before = server->users;
    server->users = users;
    pthread_mutex_unlock(&server->users_lock);
    forget(before);
    log_line(server, 1, "-Y %s: %u users may log in", server->login_path, users->count);
}

void login_close(server_t *server)
{
    forget(server->users);
    server->users = NULL;
}

login_result_t login_try(server_t *server, const char *data, size_t length)
{
    pthread_mutex_lock(&server->users_lock);
    login_result_t result = login_check(server->users, data, length);
    pthread_mutex_unlock(&server->users_lock);
    return result;
}
