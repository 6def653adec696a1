/* SPDX-License-Identifier: Apache-2.0
 * limits.c - what this host and this shell allow, and what to do where it is not enough. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/os.h"
#include "base/os_watch.h"
#include "info.h"

/* A limit in the unit of the shell's ulimit. */
typedef struct shell_limit {
    const char *name;
    __rlimit_resource_t resource;
    rlim_t unit; /* of the kernel's number */
    const char *unit_name;
    rlim_t enough;
    grade_t grade;
    const char *cure;
} shell_limit_t;

static const shell_limit_t LIMITS[] = {
    {"ulimit -n", RLIMIT_NOFILE, 1, "", 1024, GRADE_MISSING,
     "each peer takes up to three descriptors: ulimit -n 65536, LimitNOFILE= of a systemd unit"},
    {"ulimit -l", RLIMIT_MEMLOCK, 1024, " KiB", 1024, GRADE_SLOWER,
     "pools of buffers go on unlocked beyond it: ulimit -l 8192 (KiB), LimitMEMLOCK=8M of a systemd unit, --ulimit "
     "memlock=8388608 (bytes) of a container"},
};

static void tell_limit(report_t *report, const shell_limit_t *row)
{
    struct rlimit limit;
    if (getrlimit(row->resource, &limit) != 0)
        return;
    bool well = limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur / row->unit >= row->enough;
    if (limit.rlim_cur == RLIM_INFINITY)
        tell(report, row->name, GRADE_OK, NULL, "unlimited");
    else
        tell(report, row->name, well ? GRADE_OK : row->grade, well ? NULL : row->cure, "%llu%s",
             (unsigned long long)(limit.rlim_cur / row->unit), row->unit_name);
}

static void tell_tmpfs(report_t *report)
{
    struct statvfs fs;
    if (statvfs("/dev/shm", &fs) != 0) {
        tell(report, "/dev/shm", GRADE_MISSING, "mount a tmpfs there: mount -t tmpfs tmpfs /dev/shm", "missing: %s",
             strerror(errno));
        return;
    }
    unsigned long long total = (unsigned long long)fs.f_blocks * fs.f_frsize;
    unsigned long long available = (unsigned long long)fs.f_bavail * fs.f_frsize;
    bool well = available >= 256ull << 20;
    tell(report, "/dev/shm", well ? GRADE_OK : GRADE_MISSING,
         well ? NULL : "named memory files need room: mount -o remount,size=50% /dev/shm, or docker run --shm-size=2g",
         "%llu MiB, %llu MiB free", total >> 20, available >> 20);
}

static void tell_memfd(report_t *report)
{
    int fd;
    if (os_memfd("vbn-info", os_page_bytes(), &fd) != VBN_OK) {
        tell(report, "memfd", GRADE_MISSING, "without it same-host peers use TCP; the text above has the cure", "%s",
             vbn_error_text());
        return;
    }
    close(fd);
    tell(report, "memfd", GRADE_OK, NULL, "memfd_create with sealing works");
}

static void tell_userfaultfd(report_t *report)
{
    int fd;
    if (os_watch_open(&fd) != VBN_OK) {
        tell(report, "userfaultfd", GRADE_SLOWER,
             "without it registered user memory is registered anew for each use; the text above has the cure", "%s",
             vbn_error_text());
        return;
    }
    os_watch_close(fd);
    tell(report, "userfaultfd", GRADE_OK, NULL, "changes of registered user memory are noticed");
}

/* A child reads its parent: two processes of one user, of which the reader is no ancestor. 0 or the errno. */
static int read_across(void)
{
    volatile char here = 42;
    pid_t pid = fork();
    if (pid == 0) {
        char there = 0;
        struct iovec local = {&there, 1}, remote = {(void *)(uintptr_t)&here, 1};
        bool read = process_vm_readv(getppid(), &local, 1, &remote, 1, 0) == 1 && there == 42;
        _exit(read ? 0 : errno);
    }
    int status = 0;
    if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
        return ECHILD;
    return WEXITSTATUS(status);
}

static int read_number(const char *path)
{
    char line[32] = "";
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return -1;
    bool read = fgets(line, sizeof(line), file) != NULL;
    (void)fclose(file);
    return read ? atoi(line) : -1;
}

static void tell_cross_copy(report_t *report)
{
    int error = read_across();
    int yama = read_number("/proc/sys/kernel/yama/ptrace_scope");
    if (error == 0)
        tell(report, "cross-memory copy", GRADE_OK, NULL,
             "processes of one user may copy from each other (process_vm_readv)");
    else
        tell(report, "cross-memory copy", GRADE_SLOWER,
             yama > 0
                 ? "large data in private memory then goes through the rings: sysctl kernel.yama.ptrace_scope=0"
                 : "large data in private memory then goes through the rings: allow process_vm_readv in the seccomp "
                   "profile, or give the container CAP_SYS_PTRACE",
             "process_vm_readv between processes of one user: %s%s", strerror(error),
             yama > 0 ? " (Yama forbids it)" : "");
}

static void tell_huge_pages(report_t *report)
{
    FILE *file = fopen("/proc/meminfo", "r");
    char line[256];
    unsigned long long total = 0, available = 0;
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        (void)sscanf(line, "HugePages_Total: %llu", &total);
        (void)sscanf(line, "HugePages_Free: %llu", &available);
    }
    if (file != NULL)
        (void)fclose(file);
    bool transparent = os_transparent_shared();
    bool some = transparent || total > 0;
    tell(report, "huge pages", some ? GRADE_OK : GRADE_SLOWER,
         some ? NULL : "sysctl vm.nr_hugepages=N, or echo advise > /sys/kernel/mm/transparent_hugepage/shmem_enabled",
         "%llu of %llu reserved ones free, transparent ones for shared memory %s", available, total,
         transparent ? "allowed" : "forbidden");
}

void tell_limits(report_t *report)
{
    for (size_t i = 0; i < sizeof(LIMITS) / sizeof(LIMITS[0]); i++)
        tell_limit(report, &LIMITS[i]);
    tell_tmpfs(report);
    tell_memfd(report);
    tell_userfaultfd(report);
    tell_cross_copy(report);
    tell_huge_pages(report);
}
