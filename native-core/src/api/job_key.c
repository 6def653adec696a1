/* SPDX-License-Identifier: Apache-2.0
 * job_key.c - a job key out of a file. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/api_private.h"
#include "base/key_text.h"

#define KEY_DIGITS (2 * VBN_JOB_KEY_BYTES)
#define KEY_CURE "make one with vbn-info --new-key FILE"

/* Links are followed (Kubernetes mounts secrets so); what counts is the file that is opened. */
static vbn_status_t check_private(int fd, const char *path)
{
    struct stat info;
    if (fstat(fd, &info) != 0)
        return err_sys(errno, "cannot look at the job key file %s", path);
    if (!S_ISREG(info.st_mode))
        return err_set(VBN_ERR_SETTING, "the job key file %s is no plain file", path);
    if (info.st_uid != geteuid() && info.st_uid != 0)
        return err_set(VBN_ERR_ACCESS,
                       "the job key file %s belongs to user %u: whoever runs the job, or root, must own it", path,
                       (unsigned)info.st_uid);
    if ((info.st_mode & 077) != 0)
        return err_set(VBN_ERR_ACCESS, KEY_TEXT_OPEN, path, (unsigned)info.st_mode & 07777, path);
    return VBN_OK;
}

static int digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* 64 digits, then nothing but the end of the line. */
static bool decode(const char *text, uint8_t key[VBN_JOB_KEY_BYTES])
{
    if (strlen(text) < KEY_DIGITS || text[KEY_DIGITS + strspn(text + KEY_DIGITS, " \r\n")] != '\0')
        return false;
    for (unsigned i = 0; i < VBN_JOB_KEY_BYTES; i++) {
        int high = digit(text[2 * i]);
        int low = digit(text[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        key[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

vbn_status_t vbn_config_read_job_key(vbn_config_t *config, const char *path)
{
    char text[KEY_DIGITS + 8] = "";
    uint8_t key[VBN_JOB_KEY_BYTES];
    if (config == NULL || path == NULL)
        return err_set(VBN_ERR_INVALID, "reading a job key needs a configuration and the path of a file");
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe without a writer would be waited for */
    if (fd < 0)
        return err_sys(errno, "cannot open the job key file %s%s", path, errno == ENOENT ? "; " KEY_CURE : "");
    vbn_status_t status = check_private(fd, path);
    ssize_t got = status < 0 ? 0 : read(fd, text, sizeof(text) - 1);
    if (got < 0)
        status = err_sys(errno, "cannot read the job key file %s", path);
    else if (status >= 0 && !decode(text, key))
        status = err_set(VBN_ERR_SETTING,
                         "the job key file %s does not hold %d hexadecimal digits and nothing else; " KEY_CURE, path,
                         KEY_DIGITS);
    close(fd);
    if (status >= 0)
        status = vbn_config_set_job_key(config, key);
    explicit_bzero(text, sizeof(text));
    explicit_bzero(key, sizeof(key));
    return status;
}
