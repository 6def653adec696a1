/* SPDX-License-Identifier: Apache-2.0
 * key_file.c - the look at a key file, its digits, and making one. */
#include "base/key_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/os.h"

#define DIGITS (2 * KEY_FILE_BYTES)
#define OTHERS_READ 04u
#define FORBIDDEN 027u /* all rights of others, and writing for the group */
#define MAKE "make one: vbn-info --new-key FILE, or (umask 077; openssl rand -hex 32 > FILE)"

static vbn_status_t check_mode(const char *path, unsigned mode)
{
    if ((mode & OTHERS_READ) != 0)
        return err_set(VBN_ERR_ACCESS, "%s is mode %04o: others can read the key; run: chmod 600 %s", path, mode, path);
    if ((mode & FORBIDDEN) != 0)
        return err_set(VBN_ERR_ACCESS,
                       "%s is mode %04o: more than reading for its group is too much; run: chmod 640 %s", path, mode,
                       path);
    return VBN_OK;
}

static vbn_status_t check_private(int fd, const char *path, bool of_others)
{
    struct stat info;
    if (fstat(fd, &info) != 0)
        return err_sys(errno, "key file %s", path);
    if (!S_ISREG(info.st_mode))
        return err_set(VBN_ERR_SETTING, "key file %s: is no plain file; name another one", path);
    if (!of_others && info.st_uid != geteuid() && info.st_uid != 0)
        return err_set(
            VBN_ERR_ACCESS,
            "key file %s: belongs to user %u, who knows the key; see that this user, or root, owns it (chown)", path,
            (unsigned)info.st_uid);
    return check_mode(path, (unsigned)info.st_mode & 07777u);
}

static int digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* 64 digits, then nothing but the end of the line. */
static bool decode(const char *text, uint8_t key[KEY_FILE_BYTES])
{
    for (unsigned i = 0; i < DIGITS; i++)
        if (digit_of(text[i]) < 0)
            return false;
    if (text[DIGITS + strspn(text + DIGITS, " \t\r\n")] != '\0')
        return false;
    for (unsigned i = 0; i < KEY_FILE_BYTES; i++)
        key[i] = (uint8_t)(digit_of(text[2 * i]) << 4 | digit_of(text[2 * i + 1]));
    return true;
}

static vbn_status_t read_key(int fd, const char *path, uint8_t key[KEY_FILE_BYTES])
{
    char text[DIGITS + 8] = "";
    vbn_status_t status = VBN_OK;
    if (read(fd, text, sizeof(text) - 1) < 0)
        status = err_sys(errno, "key file %s", path);
    else if (!decode(text, key))
        status = err_set(VBN_ERR_SETTING, "key file %s: does not hold %d hexadecimal digits and nothing else; " MAKE,
                         path, DIGITS);
    explicit_bzero(text, sizeof(text));
    return status;
}

static vbn_status_t cannot_open(const char *path, int why)
{
    vbn_status_t status = err_sys(why, "key file %s", path);
    if (why == ENOENT)
        return err_add(status, "name one that is there, or " MAKE);
    return why == EACCES ? err_add(status, "name one that this user may read") : status;
}

vbn_status_t key_file_read(const char *path, bool of_others, uint8_t key[KEY_FILE_BYTES])
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe without a writer would be waited for */
    if (fd < 0)
        return cannot_open(path, errno);
    vbn_status_t status = check_private(fd, path, of_others);
    if (status == VBN_OK)
        status = read_key(fd, path, key);
    (void)close(fd);
    return status;
}

/* ------------------------------------------------------------------------------------------- making */

#define TEXT_BYTES (DIGITS + 1) /* digits and the end of the line */

/* Returns 0 or errno. All of the text is on the disk then. */
static int write_text(int fd, const char *text)
{
    size_t at = 0;
    if (fchmod(fd, 0600) != 0) /* whatever the umask is */
        return errno;
    while (at < TEXT_BYTES) {
        ssize_t wrote = write(fd, text + at, TEXT_BYTES - at);
        if (wrote < 0 && errno != EINTR)
            return errno;
        at += wrote > 0 ? (size_t)wrote : 0;
    }
    return fsync(fd) == 0 || errno == EINVAL ? 0 : errno; /* EINVAL: not a file that can be synchronised */
}

/* Returns 0 or errno; then there is no file. */
static int write_key(const char *path)
{
    uint8_t key[KEY_FILE_BYTES];
    char text[TEXT_BYTES + 1];
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return errno;
    os_random(key, sizeof(key));
    for (unsigned i = 0; i < KEY_FILE_BYTES; i++)
        (void)snprintf(text + 2 * i, 3, "%02x", key[i]);
    (void)strcpy(text + DIGITS, "\n");
    int why = write_text(fd, text);
    if (close(fd) != 0 && why == 0)
        why = errno;
    explicit_bzero(key, sizeof(key));
    explicit_bzero(text, sizeof(text));
    if (why != 0)
        (void)unlink(path);
    return why;
}

vbn_status_t key_file_new(const char *path)
{
    char fresh[PATH_MAX]; /* a name of its own: others may be reading, or making the same file */
    uint64_t random;
    os_random(&random, sizeof(random));
    int length = snprintf(fresh, sizeof(fresh), "%s.%016llx", path, (unsigned long long)random);
    int why = length > 0 && (size_t)length < sizeof(fresh) ? write_key(fresh) : ENAMETOOLONG;
    if (why == 0) {
        why = link(fresh, path) == 0 ? 0 : errno;
        (void)unlink(fresh);
    }
    if (why == EEXIST)
        return err_set(VBN_ERR_IN_USE,
                       "key file %s: is there already, and a key is never written over; remove it first, or name "
                       "another file",
                       path);
    return why == 0 ? VBN_OK
                    : err_add(err_sys(why, "key file %s", path), "name one in a folder that this user may write");
}
