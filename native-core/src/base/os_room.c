/* SPDX-License-Identifier: Apache-2.0
 * os_room.c - what is left of the host's memory, and of the control groups'.
 *
 * A process's group is named in /proc/self/cgroup, the place of its files in /proc/self/mountinfo. Inside a container the mount
 * shows the container's own group as its root; what lies above cannot be seen from there. */
#include "base/os_room.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "base/os.h"

#define ENTER_NS UINT64_C(10000000000)
#define ENTER_STEP_NS 1000000
#define UNLIMITED (UINT64_C(1) << 62) /* version 1 writes the largest number of whole pages */
#define SPARE_SHARE 64u
#define SPARE_MOST (UINT64_C(16) << 20)

/* Names of the files of a version. */
typedef struct version {
    const char *type, *controller; /* of the mount */
    const char *limit, *usage, *droppable;
} version_t;

static const version_t separate = {"cgroup", "memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
                                   "total_inactive_file"};
static const version_t unified = {"cgroup2", NULL, "memory.max", "memory.current", "inactive_file"};

static FILE *open_in(const char *root, const char *path)
{
    char name[PATH_MAX];
    int length = snprintf(name, sizeof(name), "%s%s", root, path);
    return length > 0 && (size_t)length < sizeof(name) ? fopen(name, "re") : NULL;
}

/* The number behind `key` at the start of a line; without a key the first number. UINT64_MAX: there is none. */
static uint64_t number_in(const char *root, const char *path, const char *key)
{
    FILE *file = open_in(root, path);
    uint64_t number = UINT64_MAX;
    char line[256];
    size_t length = key != NULL ? strlen(key) : 0;
    while (file != NULL && number == UINT64_MAX && fgets(line, sizeof(line), file) != NULL) {
        char *end, *digits = line + length;
        if (length > 0 && (strncmp(line, key, length) != 0 || (*digits != ' ' && *digits != ':')))
            continue;
        digits += strspn(digits, ": ");
        unsigned long long found = strtoull(digits, &end, 10);
        if (end != digits)
            number = found;
    }
    if (file != NULL)
        fclose(file);
    return number;
}

static void lower(os_room_t *room, uint64_t bytes, const char *group, const version_t *version, uint64_t limit)
{
    if (bytes >= room->bytes)
        return;
    room->bytes = bytes;
    snprintf(room->bound, sizeof(room->bound), "control group %.400s (%s %llu)", group, version->limit,
             (unsigned long long)limit);
}

static uint64_t file_number(const char *root, const char *group, const char *name, const char *key)
{
    char path[PATH_MAX];
    int length = snprintf(path, sizeof(path), "%s/%s", group, name);
    return length > 0 && (size_t)length < sizeof(path) ? number_in(root, path, key) : UINT64_MAX;
}

static void look_at(const char *root, const char *group, const version_t *version, os_room_t *room)
{
    uint64_t limit = file_number(root, group, version->limit, NULL);
    uint64_t usage = file_number(root, group, version->usage, NULL);
    uint64_t droppable = file_number(root, group, "memory.stat", version->droppable);
    if (limit >= UNLIMITED || usage == UINT64_MAX)
        return;
    if (droppable <= usage)
        usage -= droppable;
    uint64_t spare = limit / SPARE_SHARE < SPARE_MOST ? limit / SPARE_SHARE : SPARE_MOST;
    lower(room, usage + spare < limit ? limit - usage - spare : 0, group, version, limit);
}

/* The group and all above it, up to the mount point. */
static void climb(const char *root, const char *mount, const char *below, const version_t *version, os_room_t *room)
{
    char group[PATH_MAX], full[PATH_MAX];
    size_t top = strlen(mount);
    int length = snprintf(group, sizeof(group), "%s%s%s", mount, below[0] == '/' || below[0] == '\0' ? "" : "/", below);
    if (length <= 0 || (size_t)length >= sizeof(group))
        return;
    if (snprintf(full, sizeof(full), "%s%s", root, group) >= (int)sizeof(full) || access(full, F_OK) != 0)
        group[top] = '\0'; /* the group is not visible from here */
    for (char *slash = group; slash != NULL; slash = strrchr(group + top, '/')) {
        if (slash != group)
            *slash = '\0';
        look_at(root, group, version, room);
    }
}

/* A line of mountinfo: ID PARENT DEVICE ROOT POINT OPTIONS... - TYPE SOURCE SUPER-OPTIONS. Cuts it. False: not of this version. */
static bool is_mount(char *line, const version_t *version, char **root_p, char **point_p)
{
    char *dash = strstr(line, " - "), *save = NULL, *field[5];
    if (dash == NULL)
        return false;
    char *type = dash + 3, *rest = type + strcspn(type, " ");
    size_t type_length = (size_t)(rest - type);
    if (type_length != strlen(version->type) || strncmp(type, version->type, type_length) != 0)
        return false;
    if (version->controller != NULL && strstr(rest, version->controller) == NULL)
        return false;
    for (unsigned i = 0; i < 5; i++)
        if ((field[i] = strtok_r(i == 0 ? line : NULL, " ", &save)) == NULL)
            return false;
    *root_p = field[3];
    *point_p = field[4];
    return true;
}

static void look_below_mounts(const char *root, const char *group, const version_t *version, os_room_t *room)
{
    FILE *file = open_in(root, "/proc/self/mountinfo");
    char *line = NULL;
    size_t capacity = 0;
    while (file != NULL && getline(&line, &capacity, file) > 0) {
        char *mounted, *point;
        if (!is_mount(line, version, &mounted, &point))
            continue;
        size_t length = strcmp(mounted, "/") == 0 ? 0 : strlen(mounted);
        const char *below = strncmp(group, mounted, length) == 0 ? group + length : group;
        climb(root, point, strstr(below, "..") != NULL || strcmp(below, "/") == 0 ? "" : below, version, room);
    }
    free(line);
    if (file != NULL)
        fclose(file);
}

/* A line of /proc/self/cgroup: HIERARCHY:CONTROLLERS:PATH. */
static void look_at_line(const char *root, char *line, os_room_t *room)
{
    line[strcspn(line, "\n")] = '\0';
    char *controllers = strchr(line, ':'), *path = controllers != NULL ? strchr(controllers + 1, ':') : NULL;
    if (path == NULL)
        return;
    *path++ = '\0';
    if (controllers[1] == '\0')
        look_below_mounts(root, path, &unified, room);
    else if (strstr(controllers + 1, separate.controller) != NULL)
        look_below_mounts(root, path, &separate, room);
}

void os_room_ask(const char *root, os_room_t *room)
{
    uint64_t kib = number_in(root, "/proc/meminfo", "MemAvailable");
    FILE *file = open_in(root, "/proc/self/cgroup");
    char *line = NULL;
    size_t capacity = 0;
    *room = (os_room_t){.bytes = kib == UINT64_MAX ? UINT64_MAX : kib * 1024, .bound = "the host"};
    while (file != NULL && getline(&line, &capacity, file) > 0)
        look_at_line(root, line, room);
    free(line);
    if (file != NULL)
        fclose(file);
}

/* A line of /proc/locks: NUMBER: FLOCK ADVISORY WRITE PID MAJOR:MINOR:INODE FIRST LAST. The process that holds the lock on that
 * inode; 0: it is none of this line. */
static long holder_in(const char *line, const struct stat *info)
{
    unsigned major_number, minor_number;
    unsigned long inode;
    long pid;
    if (sscanf(line, "%*u: FLOCK ADVISORY WRITE %ld %x:%x:%lu", &pid, &major_number, &minor_number, &inode) != 4)
        return 0;
    return major(info->st_dev) == major_number && minor(info->st_dev) == minor_number && info->st_ino == inode ? pid
                                                                                                               : 0;
}

bool os_room_is_foreign(int fd)
{
    char line[256], name[64];
    struct stat info;
    long pid = 0;
    FILE *file = fstat(fd, &info) == 0 ? fopen("/proc/locks", "re") : NULL;
    while (file != NULL && pid == 0 && fgets(line, sizeof(line), file) != NULL)
        pid = holder_in(line, &info);
    if (file != NULL)
        fclose(file);
    (void)snprintf(name, sizeof(name), "/proc/%ld", pid);
    return pid > 0 && stat(name, &info) == 0 && info.st_uid != geteuid();
}

int os_room_enter(void)
{
    int fd = open("/proc/meminfo", O_RDONLY | O_CLOEXEC);
    uint64_t end = os_now_ns() + ENTER_NS;
    while (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0 && !os_room_is_foreign(fd) && os_now_ns() < end)
        (void)nanosleep(&(struct timespec){.tv_nsec = ENTER_STEP_NS}, NULL);
    return fd;
}

void os_room_leave(int fd)
{
    if (fd >= 0)
        (void)close(fd);
}
