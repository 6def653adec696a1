/* SPDX-License-Identifier: Apache-2.0 */
/* floor_stat.c - stat and its kind, which are no functions of a libc.so.6 before 2.33: inside this library, by the call that
 * newer ones make, too. */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#if !defined(__x86_64__) && !defined(__aarch64__)
#error "struct stat is the kernel's on x86_64 and aarch64; another processor has to be looked at"
#endif

int stat(const char *restrict path, struct stat *restrict result)
{
    return (int)syscall(SYS_newfstatat, AT_FDCWD, path, result, 0);
}

int lstat(const char *restrict path, struct stat *restrict result)
{
    return (int)syscall(SYS_newfstatat, AT_FDCWD, path, result, AT_SYMLINK_NOFOLLOW);
}

int fstat(int fd, struct stat *result)
{
    return (int)syscall(SYS_newfstatat, fd, "", result, AT_EMPTY_PATH);
}
