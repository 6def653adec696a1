/* SPDX-License-Identifier: Apache-2.0
 * login.c - the login of -Y. */
#include "proto/login.h"

#include <string.h>

#include "proto/text.h"
#include "util/number.h"

/* False: too long, and the word is cut off. */
static bool set_word(login_word_t *word, text_t text)
{
    bool fits = text.length <= LOGIN_WORD_MAX;
    size_t length = fits ? text.length : LOGIN_WORD_MAX;
    memset(word, 0, sizeof(*word));
    memcpy(word->bytes, text.at, length);
    word->length = (unsigned char)length;
    return fits;
}

static const char *read_user(text_t line, login_users_t *users)
{
    const char *colon = memchr(line.at, ':', line.length);
    if (colon == NULL || colon == line.at)
        return "is not USER:PASSWORD";
    if (memchr(line.at, '\0', line.length) != NULL || memchr(line.at, ' ', line.length) != NULL)
        return "has a blank or a zero byte, with which nobody can log in";
    if (users->count == LOGIN_USERS_MAX)
        return "is a user too many: 64 are allowed";
    struct login_user *user = &users->user[users->count++];
    text_t name = {.at = line.at, .length = (size_t)(colon - line.at)};
    text_t password = {.at = colon + 1, .length = line.length - name.length - 1};
    if (password.length == 0)
        return "has no password";
    if (!set_word(&user->name, name) || !set_word(&user->password, password))
        return "is too long: a user and a password have at most 255 bytes each";
    return NULL;
}

const char *login_read(const char *text, size_t length, login_users_t *users, unsigned *line_p)
{
    const char *error = NULL;
    users->count = 0;
    *line_p = 0;
    while (length > 0 && error == NULL) {
        const char *end = memchr(text, '\n', length);
        size_t bytes = end == NULL ? length : (size_t)(end - text) + 1;
        text_t line = {.at = text, .length = end == NULL ? bytes : bytes - 1};
        if (line.length > 0 && line.at[line.length - 1] == '\r')
            line.length--;
        ++*line_p;
        error = line.length == 0 ? NULL : read_user(line, users);
        text += bytes;
        length -= bytes;
    }
    return error;
}

bool login_line(const char *line, size_t length, uint32_t *bytes_p)
{
    text_t rest = {.at = line, .length = length}, word = text_word(&rest);
    uint64_t bytes;
    if (!text_is(word, "set"))
        return false;
    for (unsigned i = 0; i < 4; i++) /* key, flags and exptime may be anything */
        word = text_word(&rest);
    if (!number_u64(word.at, word.length, &bytes))
        return false;
    *bytes_p = (uint32_t)bytes; /* as memcached: the low 32 bits */
    return true;
}

/* 0: equal. Reads all bytes, so that the time tells nothing about the first wrong one. */
static unsigned difference(const login_word_t *a, const login_word_t *b)
{
    volatile unsigned bits = (unsigned)(a->length ^ b->length);
    for (unsigned i = 0; i < LOGIN_WORD_MAX; i++)
        bits |= (unsigned char)(a->bytes[i] ^ b->bytes[i]);
    return bits;
}

login_result_t login_check(const login_users_t *users, const char *data, size_t length)
{
    const char *zero = memchr(data, '\0', length);
    text_t rest = {.at = data, .length = zero == NULL ? length : (size_t)(zero - data)};
    text_t name = text_word(&rest), password = text_word(&rest);
    struct login_user given;
    unsigned found = 0;
    if (password.length == 0)
        return LOGIN_MALFORMED;
    bool fits = set_word(&given.name, name);
    fits = set_word(&given.password, password) && fits;
    for (unsigned i = 0; i < users->count; i++) {
        unsigned bits = difference(&given.name, &users->user[i].name);
        bits |= difference(&given.password, &users->user[i].password);
        found |= bits == 0;
    }
    return fits && found ? LOGIN_RIGHT : LOGIN_WRONG;
}
