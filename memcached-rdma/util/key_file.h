/* SPDX-License-Identifier: Apache-2.0
 * key_file.h - the file with the secret that a server and its clients share: its place and its names. base/key_file.h of the core
 * makes the file and reads it. */
#ifndef MC_UTIL_KEY_FILE_H
#define MC_UTIL_KEY_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/key_file.h"

#define KEY_FILE_ERROR 512

/* A server, as the names of default files tell servers apart. */
typedef struct key_server {
    int port;
    const char *socket_path; /* NULL: TCP */
} key_server_t;

/* Where a server keeps its key when nobody has named a file: in $XDG_RUNTIME_DIR/verbena where that is this user's, else in
 * /tmp/verbena-UID, which is made. False: error says what failed and what to do. */
bool key_file_place(const key_server_t *server, char *path, size_t capacity, char error[KEY_FILE_ERROR]);
/* Where a client finds that: in the first of both places that has it, else it is the second. */
bool key_file_find(const key_server_t *server, char *path, size_t capacity, char error[KEY_FILE_ERROR]);
/* Makes the file with a random key, and its folder, unless there is one already. False: error says why. */
bool key_file_make(const char *path, char error[KEY_FILE_ERROR]);
/* The same file under another name, in the same folder, in the place of what has that name. False: error says why. */
bool key_file_share(const char *path, const char *other, char error[KEY_FILE_ERROR]);

#endif
