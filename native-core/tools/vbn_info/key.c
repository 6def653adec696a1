/* SPDX-License-Identifier: Apache-2.0
 * key.c - makes a job key: 256 random bits in a file of their own. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/os.h"
#include "info.h"

#define KEY_TEXT_BYTES (2 * VBN_JOB_KEY_BYTES + 1) /* digits and the end of the line */

/* The whole text is on the disk before anybody is told that the file is there. */
static bool write_text(int fd, const char *text)
{
    size_t at = 0;
    if (fchmod(fd, 0600) != 0) /* whatever the umask is */
        return false;
    while (at < KEY_TEXT_BYTES) {
        ssize_t wrote = write(fd, text + at, KEY_TEXT_BYTES - at);
        if (wrote < 0 && errno != EINTR)
            return false;
        at += wrote > 0 ? (size_t)wrote : 0;
    }
    return fsync(fd) == 0 || errno == EINVAL; /* EINVAL: not a file that can be synchronised */
}

int new_key(const char *path)
{
    uint8_t key[VBN_JOB_KEY_BYTES];
    char text[KEY_TEXT_BYTES + 1];
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0 && errno == EEXIST)
        info_fail("%s is there already, and a key is never written over: remove it first, or name another file", path);
    if (fd < 0)
        info_fail("cannot make %s: %s", path, strerror(errno));
    os_random(key, sizeof(key));
    for (size_t i = 0; i < sizeof(key); i++)
        (void)snprintf(text + 2 * i, 3, "%02x", key[i]);
    (void)strcpy(text + 2 * sizeof(key), "\n");
    bool good = write_text(fd, text);
    int error = errno;
    good = close(fd) == 0 && good;
    explicit_bzero(key, sizeof(key));
    explicit_bzero(text, sizeof(text));
    if (!good) {
        (void)unlink(path);
        info_fail("cannot write %s: %s", path, strerror(error));
    }
    printf("%s holds a new job key; give it, and nobody else, to all processes of the job\n", path);
    return 0;
}
