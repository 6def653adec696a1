/* SPDX-License-Identifier: Apache-2.0
 * host.c - what tells hosts apart, and how much there is of this one (host.h).
 */
#include "rt/host.h"

#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rt/rt.h"

/* Identity of the running kernel; without it no other process is on this host. */
static void boot_id(rt_host_t *host)
{
    const int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    const ssize_t length = fd < 0 ? -1 : read(fd, host->boot_id, sizeof(host->boot_id));
    if (fd >= 0)
        (void)close(fd);
    if (length < (ssize_t)sizeof(host->boot_id))
        memcpy(host->boot_id, &rt.rank, sizeof(rt.rank));
}

/* The directory of the sockets that processes connect by; without one these belong to the network namespace. */
static void sockets(rt_host_t *host)
{
    char directory[256];
    struct stat info;
    (void)vbn_setting(rt.context, "tl.shm.group", NULL, 0, &host->group);
    if (vbn_setting(rt.context, "tl.shm.socket_dir", directory, sizeof(directory), NULL) != VBN_OK || directory[0] == 0)
        strcpy(directory, "/proc/self/ns/net");
    if (stat(directory, &info) != 0)
        return;
    host->device = (uint64_t)info.st_dev;
    host->inode = (uint64_t)info.st_ino;
}

void rt_find_host(rt_host_t *host)
{
    memset(host, 0, sizeof(*host));
    boot_id(host);
    sockets(host);
}

uint64_t rt_host_bytes(void)
{
    return (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
}

uint64_t rt_most_addresses(void)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY ? limit.rlim_cur : UINT64_MAX;
}
