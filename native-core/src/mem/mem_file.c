/* SPDX-License-Identifier: Apache-2.0
 * mem_file.c - the header page of named memory and the checks before a named memory is trusted. */
#include "mem/mem_private.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/os.h"

static vbn_status_t check_private(const struct stat *st, const char *what, const char *path)
{
    if (st->st_uid != geteuid())
        return err_set(VBN_ERR_ACCESS, "%s %s belongs to user %u, not to this process's user %u", what, path,
                       (unsigned)st->st_uid, (unsigned)geteuid());
    if ((st->st_mode & 077) != 0)
        return err_set(VBN_ERR_ACCESS, "%s %s has mode %03o: group or others have rights; chmod go= it", what, path,
                       (unsigned)(st->st_mode & 0777));
    return VBN_OK;
}

vbn_status_t mem_file_check_directory(const char *path)
{
    char directory[4096];
    snprintf(directory, sizeof(directory), "%s", path);
    char *slash = strrchr(directory, '/');
    if (slash == NULL)
        snprintf(directory, sizeof(directory), ".");
    else
        slash[slash == directory ? 1 : 0] = '\0';
    struct stat st;
    if (lstat(directory, &st) != 0)
        return err_sys(errno, "cannot look at directory %s of memory file %s", directory, path);
    if (!S_ISDIR(st.st_mode))
        return err_set(VBN_ERR_ACCESS, "%s, the directory of memory file %s, is not a directory", directory, path);
    return check_private(&st, "directory", directory);
}

void mem_file_write_header(vbn_mem_t *mem)
{
    mem_file_header_t *header = (mem_file_header_t *)(void *)mem->map;
    header->magic = MEM_FILE_MAGIC;
    header->version = MEM_FILE_VERSION;
    header->generation = os_random_u64();
    header->user_bytes = mem_size(mem);
    header->host_id = os_host_id();
    header->owner_id = mem->registry->id;
    /* Release pairs with the acquire in mem_open: who sees LIVE sees the other fields. */
    atomic_set_release(&header->state, MEM_FILE_LIVE);
}

static vbn_status_t check_header(const mem_file_header_t *header, uint64_t file_bytes, const char *path)
{
    if (header->magic != MEM_FILE_MAGIC)
        return err_set(VBN_ERR_CORRUPT, "%s is not a memory file (magic 0x%llx)", path,
                       (unsigned long long)header->magic);
    if (header->version != MEM_FILE_VERSION)
        return err_set(VBN_ERR_VERSION, "%s has layout version %u, this build reads version %u", path, header->version,
                       MEM_FILE_VERSION);
    uint32_t state = atomic_get_relaxed(&header->state);
    if (state == MEM_FILE_REVOKED)
        return err_set(VBN_ERR_STALE, "%s was freed by its owner", path);
    if (state != MEM_FILE_LIVE || header->generation == 0 || header->owner_id == 0)
        return err_set(VBN_ERR_CORRUPT, "%s has a broken header (state %u)", path, state);
    if (header->user_bytes == 0 || header->user_bytes != file_bytes - os_page_bytes())
        return err_set(VBN_ERR_CORRUPT, "%s says %llu user bytes, but the file has %llu bytes with its header page",
                       path, (unsigned long long)header->user_bytes, (unsigned long long)file_bytes);
    if (header->host_id != os_host_id())
        return err_set(VBN_ERR_STALE, "%s was made before this host booted, or on another host", path);
    return VBN_OK;
}

vbn_status_t mem_file_check(int fd, const char *path, mem_file_header_t *header_p)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return err_sys(errno, "cannot look at memory file %s", path);
    if (!S_ISREG(st.st_mode))
        return err_set(VBN_ERR_ACCESS, "%s is not a regular file", path);
    vbn_status_t status = check_private(&st, "memory file", path);
    if (status != VBN_OK)
        return status;
    size_t page = os_page_bytes();
    uint64_t file_bytes = (uint64_t)st.st_size;
    if (file_bytes <= page || file_bytes % page != 0)
        return err_set(VBN_ERR_CORRUPT, "%s has %llu bytes, which is no header page and whole pages of data", path,
                       (unsigned long long)file_bytes);
    ssize_t got = pread(fd, header_p, sizeof(*header_p), 0);
    if (got != (ssize_t)sizeof(*header_p))
        return got < 0 ? err_sys(errno, "cannot read the header of %s", path)
                       : err_set(VBN_ERR_CORRUPT, "%s ends within its header", path);
    return check_header(header_p, file_bytes, path);
}

void mem_file_revoke(vbn_mem_t *mem)
{
    if (mem->map != NULL) {
        mem_file_header_t *header = (mem_file_header_t *)(void *)mem->map;
        /* Release pairs with the acquire in mem_open. */
        atomic_set_release(&header->state, MEM_FILE_REVOKED);
    }
    struct stat by_name;
    struct stat ours;
    if (fstat(mem->fd, &ours) != 0 || lstat(mem->path, &by_name) != 0)
        return;
    if (ours.st_ino == by_name.st_ino && ours.st_dev == by_name.st_dev)
        unlink(mem->path);
}
