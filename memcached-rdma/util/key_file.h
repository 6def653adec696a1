/* SPDX-License-Identifier: Apache-2.0
 * key_file.h - the secret that a server and its clients share: a file of 64 hexadecimal digits, mode 0600 or 0640. */
#ifndef MC_UTIL_KEY_FILE_H
#define MC_UTIL_KEY_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KEY_FILE_BYTES 32
#define KEY_FILE_ERROR 512

/* The default file of the server on this TCP port or Unix socket (NULL: TCP), below $XDG_RUNTIME_DIR. False: that is not set,
 * or the path is too long. */
bool key_file_default(int port, const char *socket_path, char *path, size_t capacity);
/* Reads a key. False: error says what failed and what to do. */
bool key_file_read(const char *path, uint8_t key[KEY_FILE_BYTES], char error[KEY_FILE_ERROR]);
/* Makes the file with a random key, and its folder, unless there is one already. False: error says why. */
bool key_file_make(const char *path, char error[KEY_FILE_ERROR]);

#endif
