/* SPDX-License-Identifier: Apache-2.0
 * fuzz_mc_login.c - the file of users (-Y), the line that announces a login, and its data. The first byte says how much of the
 * input is the file; a user of the file can log in, with these words and no others. */
#include "fuzz.h"
#include "proto/login.h"

static login_users_t users;

/* The words of a user are a login, and each with a byte more is none. */
static void check_user(unsigned i)
{
    const struct login_user *user = &users.user[i];
    char data[2 * LOGIN_WORD_MAX + 3];
    size_t name = user->name.length, length = name + 1 + user->password.length;
    require(name > 0 && user->password.length > 0);
    memcpy(data, user->name.bytes, name);
    data[name] = ' ';
    memcpy(data + name + 1, user->password.bytes, user->password.length);
    require(login_check(&users, data, length) == LOGIN_RIGHT);
    require(login_check(&users, data, name) == LOGIN_MALFORMED);
    data[length] = '\x01';
    if (users.count == 1)
        require(login_check(&users, data, length + 1) == LOGIN_WRONG);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned line;
    uint32_t bytes;
    if (size == 0)
        return 0;
    size_t file = (size_t)data[0] * 4 < size - 1 ? (size_t)data[0] * 4 : size - 1;
    const char *text = (const char *)data + 1;
    const char *error = login_read(text, file, &users, &line);
    require(error == NULL || line > 0);
    require(users.count <= LOGIN_USERS_MAX);
    for (unsigned i = 0; error == NULL && i < users.count; i++)
        check_user(i);
    if (error == NULL)
        (void)login_check(&users, text + file, size - 1 - file);
    (void)login_line(text + file, size - 1 - file, &bytes);
    return 0;
}
