/* SPDX-License-Identifier: Apache-2.0
 * login.h - the login of -Y: the file of users, the line that announces a login, and its check. Pure: bytes in, a result out. */
#ifndef MC_PROTO_LOGIN_H
#define MC_PROTO_LOGIN_H

#include "proto/request.h"

#define LOGIN_USERS_MAX 64u
#define LOGIN_WORD_MAX 255u         /* bytes of a user's name, and of a password */
#define LOGIN_BYTES_MAX (16u << 10) /* of the data of a login; memcached has no place for more either */
#define LOGIN_FILE_MAX (64u << 10)  /* bytes of a file of users */

/* Bytes behind the length are 0: a comparison reads all of them, whatever they are. */
typedef struct login_word {
    unsigned char length;
    char bytes[LOGIN_WORD_MAX];
} login_word_t;

typedef struct login_users {
    unsigned count;
    struct login_user {
        login_word_t name, password;
    } user[LOGIN_USERS_MAX];
} login_users_t;

typedef enum login_result { LOGIN_RIGHT, LOGIN_WRONG, LOGIN_MALFORMED } login_result_t;

/* Reads lines "user:password". The last line needs no end; empty lines are skipped. NULL: `users` has all of them; else the fault
 * of line *line_p, and the users are undefined. */
const char *login_read(const char *text, size_t length, login_users_t *users, unsigned *line_p);
/* "set KEY FLAGS EXPTIME BYTES ...", without the end of the line: the bytes of the login that follow. False: another command. */
bool login_line(const char *line, size_t length, uint32_t *bytes_p);
/* Checks "user password". Takes the same time for each wrong login. */
login_result_t login_check(const login_users_t *users, const char *data, size_t length);

#endif
