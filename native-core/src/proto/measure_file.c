/* SPDX-License-Identifier: Apache-2.0
 * measure_file.c - the file that keeps what was measured, for the next start on this host.
 *
 *   offset 0   8 bytes  "VBNCOST2"           16  u32  processors this process may use
 *          8   u64      host (boot id)       20  u32  copy_ps       24  u32  handover_ns    28  u32  syscall_ns
 *         32  u32      pack_ps               36  u32  CRC-32C of all before; little endian, 40 bytes */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "base/endian.h"
#include "base/os.h"
#include "proto/measure.h"

#define FILE_BYTES 40u
#define CHECK_AT 36u
static const char MAGIC[8] = {'V', 'B', 'N', 'C', 'O', 'S', 'T', '2'};

static void encode(const model_host_t *host, uint8_t *bytes)
{
    memcpy(bytes, MAGIC, sizeof(MAGIC));
    le_put_u64(bytes + 8, os_host_id());
    le_put_u32(bytes + 16, os_cpu_count());
    le_put_u32(bytes + 20, host->copy_ps);
    le_put_u32(bytes + 24, host->handover_ns);
    le_put_u32(bytes + 28, host->syscall_ns);
    le_put_u32(bytes + 32, host->pack_ps);
    le_put_u32(bytes + CHECK_AT, crc32c(0, bytes, CHECK_AT));
}

static bool possible(const model_host_t *host)
{
    return host->copy_ps >= 1 && host->copy_ps <= 10000 && host->handover_ns >= 1 && host->handover_ns <= 100000 &&
           host->syscall_ns >= 1 && host->syscall_ns <= 100000 && host->pack_ps >= 1 && host->pack_ps <= 1000000;
}

static vbn_status_t decode(const char *path, const uint8_t *bytes, model_host_t *host_p)
{
    if (memcmp(bytes, MAGIC, sizeof(MAGIC)) != 0)
        return err_set(VBN_ERR_VERSION, "%s is not a cost file of this version", path);
    if (le_get_u32(bytes + CHECK_AT) != crc32c(0, bytes, CHECK_AT))
        return err_set(VBN_ERR_CORRUPT, "%s is damaged: its checksum is wrong", path);
    if (le_get_u64(bytes + 8) != os_host_id() || le_get_u32(bytes + 16) != os_cpu_count())
        return err_set(VBN_ERR_STALE, "%s was measured on another host, boot or set of processors", path);
    model_host_t host = {.copy_ps = le_get_u32(bytes + 20),
                         .handover_ns = le_get_u32(bytes + 24),
                         .syscall_ns = le_get_u32(bytes + 28),
                         .pack_ps = le_get_u32(bytes + 32)};
    if (!possible(&host))
        return err_set(VBN_ERR_CORRUPT, "%s contains implausible costs", path);
    *host_p = host;
    return VBN_OK;
}

/* What others may write, others may have written. */
static vbn_status_t check_private(const char *path, const struct stat *info, mode_t type)
{
    if ((info->st_mode & S_IFMT) != type)
        return err_set(VBN_ERR_INVALID, "%s is not a %s", path, type == S_IFDIR ? "directory" : "plain file");
    if (info->st_uid != geteuid() || (info->st_mode & 077) != 0)
        return err_set(VBN_ERR_ACCESS, "%s must belong to this user and to no other (mode 0%o, owner %u)", path,
                       info->st_mode & 0777u, (unsigned)info->st_uid);
    return VBN_OK;
}

vbn_status_t measure_read(const char *path, model_host_t *host)
{
    uint8_t bytes[FILE_BYTES + 1];
    struct stat info;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return err_sys(errno, "cannot open %s", path);
    vbn_status_t status = fstat(fd, &info) == 0 ? check_private(path, &info, S_IFREG) : err_sys(errno, "fstat");
    if (status == VBN_OK && read(fd, bytes, sizeof(bytes)) != FILE_BYTES)
        status = err_set(VBN_ERR_CORRUPT, "%s does not have the %u bytes of a cost file", path, FILE_BYTES);
    if (status == VBN_OK)
        status = decode(path, bytes, host);
    close(fd);
    return status;
}

/* The directory that path lies in, checked, as a descriptor. */
static vbn_status_t open_directory(const char *path, int *fd_p)
{
    struct stat info;
    const char *slash = strrchr(path, '/');
    if (slash == NULL || slash == path || slash[1] == '\0')
        return err_set(VBN_ERR_SETTING, "proto.cost_file=%s is not a file in a directory, as in /path/to/file", path);
    char *folder = strndup(path, (size_t)(slash - path));
    if (folder == NULL)
        return err_set(VBN_ERR_NO_MEMORY, "no heap for a path");
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    vbn_status_t status = fd < 0 || fstat(fd, &info) < 0 ? err_sys(errno, "cannot open %s", folder)
                                                         : check_private(folder, &info, S_IFDIR);
    free(folder);
    if (status != VBN_OK && fd >= 0)
        close(fd);
    *fd_p = status == VBN_OK ? fd : -1;
    return status;
}

vbn_status_t measure_write(const char *path, const model_host_t *host)
{
    uint8_t bytes[FILE_BYTES];
    char name[64] = "";
    int folder = -1;
    vbn_status_t status = open_directory(path, &folder);
    if (status != VBN_OK)
        return status;
    encode(host, bytes);
    snprintf(name, sizeof(name), ".cost-%016llx", (unsigned long long)os_random_u64());
    int fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) {
        status = err_sys(errno, "cannot create a file beside %s", path);
    } else {
        bool wrote = write(fd, bytes, FILE_BYTES) == FILE_BYTES;
        wrote = close(fd) == 0 && wrote;
        if (!wrote || renameat(folder, name, folder, strrchr(path, '/') + 1) != 0) {
            status = err_sys(errno, "cannot write %s", path);
            (void)unlinkat(folder, name, 0);
        }
    }
    close(folder);
    return status;
}

void measure_load(const settings_t *settings, const log_sink_t *log, model_host_t *host)
{
    const char *path = settings->proto_cost_file;
    *host = MODEL_HOST_DEFAULT;
    if (strcmp(path, "none") == 0)
        return;
    bool kept = path[0] != '\0';
    if (kept && measure_read(path, host) == VBN_OK)
        return;
    if (kept && access(path, F_OK) == 0)
        LOG_WARN(log, "cost file not used, costs are measured again: %s", err_text());
    measure_host(host, NULL);
    if (kept && measure_write(path, host) != VBN_OK)
        LOG_WARN(log, "cost file not written, the next start measures again: %s", err_text());
}
