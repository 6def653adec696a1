/* SPDX-License-Identifier: Apache-2.0
 * users.h - whether a test may become another user. Root of a user namespace without this user may not, nor may root of
 * a container without CAP_SETUID and CAP_SETGID. */
#ifndef VBN_TESTS_USERS_H
#define VBN_TESTS_USERS_H

#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#define CANNOT_BECOME                                                                                                  \
    "no process of another user can be made here: run the tests as root, with CAP_SETUID and CAP_SETGID"

/* Another than it is. Tried by a child, as there is no way back for the one that did it. */
static inline int can_become(uid_t user)
{
    int status = -1;
    pid_t child = user != geteuid() ? fork() : -1;
    if (child == 0)
        _exit(setresgid(user, user, user) != 0 || setresuid(user, user, user) != 0);
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

#endif
