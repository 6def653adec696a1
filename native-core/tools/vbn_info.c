/* SPDX-License-Identifier: Apache-2.0
 * vbn_info.c - what this host offers to the core: transports that open, limits, and what to do about what is missing. */
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "vbn/vbn.h"

typedef struct report {
    bool json;
    bool first;
    int problems;
} report_t;

static void json_string(const char *text)
{
    putchar('"');
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            printf("\\%c", c);
        else if (c < 0x20)
            printf("\\u%04x", c);
        else
            putchar(c);
    }
    putchar('"');
}

/* One fact. cure: NULL when all is well. */
static void tell(report_t *report, const char *name, const char *cure, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
static void tell(report_t *report, const char *name, const char *cure, const char *format, ...)
{
    char value[1024];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(value, sizeof(value), format, args);
    va_end(args);
    report->problems += cure != NULL;
    if (!report->json) {
        printf("%-18s %-4s %s\n", name, cure == NULL ? "ok" : "!", value);
        if (cure != NULL)
            printf("%-18s      -> %s\n", "", cure);
        return;
    }
    printf("%s  {\"name\": ", report->first ? "" : ",\n");
    report->first = false;
    json_string(name);
    printf(", \"ok\": %s, \"value\": ", cure == NULL ? "true" : "false");
    json_string(value);
    if (cure != NULL) {
        printf(", \"cure\": ");
        json_string(cure);
    }
    printf("}");
}

static void quiet(void *arg, vbn_log_level_t level, const char *line)
{
    (void)arg;
    (void)level;
    (void)line;
}

/* A message nobody handles: its refusal proves that packets went there and back. */
static vbn_status_t round_trip(vbn_worker_t *const workers[2], vbn_peer_t *peer)
{
    vbn_op_t op = {0};
    struct timespec start;
    struct timespec now;
    vbn_status_t status = vbn_am_send(peer, 0, NULL, 0, NULL, 0, VBN_AM_PULL, &op);
    (void)clock_gettime(CLOCK_MONOTONIC, &start);
    now = start;
    while (status >= 0 && op.complete == 0 && now.tv_sec - start.tv_sec < 5) {
        (void)vbn_progress(workers[0]);
        if (workers[1] != NULL)
            (void)vbn_progress(workers[1]);
        (void)clock_gettime(CLOCK_MONOTONIC, &now);
    }
    if (status < 0)
        return status;
    if (op.complete == 0)
        return VBN_ERR_TIMEOUT;
    return op.status == VBN_ERR_UNSUPPORTED ? VBN_OK : (vbn_status_t)op.status;
}

/* Connects a worker to a second one (self: to itself), exchanges a message, and says what was chosen and why. */
static vbn_status_t open_pair(vbn_context_t *context, bool self, char *why, size_t capacity)
{
    vbn_worker_t *workers[2] = {NULL, NULL};
    vbn_peer_t *peer = NULL;
    uint8_t blob[VBN_ADDRESS_MAX];
    size_t length = sizeof(blob);
    vbn_status_t status = vbn_worker_create(context, &workers[0]);
    if (status == VBN_OK && !self)
        status = vbn_worker_create(context, &workers[1]);
    if (status == VBN_OK)
        status = vbn_worker_address(workers[self ? 0 : 1], blob, &length);
    if (status == VBN_OK)
        status = vbn_connect(workers[0], blob, length, NULL, NULL, &peer);
    if (status == VBN_OK) {
        status = round_trip(workers, peer);
        (void)vbn_explain(peer, why, capacity);
        vbn_disconnect(peer, VBN_CLOSE_NOW);
    }
    for (int i = 0; i < 2; i++)
        if (workers[i] != NULL)
            vbn_worker_destroy(workers[i]);
    return status;
}

static void tell_transport(report_t *report, const char *name)
{
    vbn_config_t *config = NULL;
    vbn_context_t *context = NULL;
    char why[512] = "";
    vbn_status_t status = vbn_config_create(&config);
    if (status == VBN_OK) {
        vbn_config_set_log(config, quiet, NULL);
        status = vbn_config_set(config, "tl.enable", name);
    }
    if (status == VBN_OK)
        status = vbn_config_set(config, "security.auth", "none");
    if (status == VBN_OK)
        status = vbn_open(config, &context);
    if (status == VBN_OK)
        status = open_pair(context, strcmp(name, "self") == 0, why, sizeof(why));
    char row[32];
    (void)snprintf(row, sizeof(row), "transport %s", name);
    if (status == VBN_OK)
        tell(report, row, NULL, "%s", why);
    else
        tell(report, row, "the text above names the setting or command that helps", "%s: %s", vbn_status_name(status),
             vbn_error_text());
    if (context != NULL)
        (void)vbn_close(context);
    if (config != NULL)
        vbn_config_destroy(config);
}

static void tell_limit(report_t *report, const char *name, __rlimit_resource_t resource, rlim_t enough, const char *cure)
{
    struct rlimit limit;
    if (getrlimit(resource, &limit) != 0)
        return;
    if (limit.rlim_cur == RLIM_INFINITY)
        tell(report, name, NULL, "unlimited");
    else
        tell(report, name, limit.rlim_cur >= enough ? NULL : cure, "%llu", (unsigned long long)limit.rlim_cur);
}

static void tell_tmpfs(report_t *report)
{
    struct statvfs fs;
    if (statvfs("/dev/shm", &fs) != 0) {
        tell(report, "/dev/shm", "mount a tmpfs there: mount -t tmpfs tmpfs /dev/shm", "missing: %s", strerror(errno));
        return;
    }
    unsigned long long total = (unsigned long long)fs.f_blocks * fs.f_frsize;
    unsigned long long available = (unsigned long long)fs.f_bavail * fs.f_frsize;
    const char *cure = available >= 256ull << 20 ? NULL
                       : "named memory files need room: mount -o remount,size=50% /dev/shm, or docker run --shm-size=2g";
    tell(report, "/dev/shm", cure, "%llu MiB, %llu MiB free", total >> 20, available >> 20);
}

static void tell_memfd(report_t *report)
{
    int fd = memfd_create("vbn-info", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0) {
        tell(report, "memfd", "shared memory needs memfd_create: allow it in the seccomp profile, kernel >= 3.17", "%s",
             strerror(errno));
        return;
    }
    close(fd);
    tell(report, "memfd", NULL, "memfd_create with sealing works");
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
    tell(report, "huge pages", NULL, "%llu of %llu free (optional, not used yet)", available, total);
}

static void usage(FILE *out)
{
    fprintf(out, "usage: vbn_info [--json]\n"
                 "Says which transports open here and why, and which limits matter.\n"
                 "Exit status 0: all well, 1: something is missing (the cure is printed), 2: wrong usage.\n");
}

int main(int argc, char **argv)
{
    static const struct option OPTIONS[] = {{"json", no_argument, NULL, 'j'}, {"help", no_argument, NULL, 'h'}, {0}};
    report_t report = {.first = true};
    int option;
    while ((option = getopt_long(argc, argv, "jh", OPTIONS, NULL)) != -1) {
        if (option == 'j') {
            report.json = true;
        } else {
            usage(option == 'h' ? stdout : stderr);
            return option == 'h' ? 0 : 2;
        }
    }
    if (report.json)
        printf("[\n");
    tell(&report, "version", NULL, "%s", VBN_VERSION_STRING);
    tell_transport(&report, "self");
    tell_transport(&report, "shm");
    tell_transport(&report, "tcp");
    tell_limit(&report, "ulimit -n", RLIMIT_NOFILE, 1024, "each peer takes a descriptor: ulimit -n 65536");
    tell_limit(&report, "ulimit -l", RLIMIT_MEMLOCK, 0, "not needed by shm and tcp");
    tell_tmpfs(&report);
    tell_memfd(&report);
    tell_huge_pages(&report);
    if (report.json)
        printf("\n]\n");
    return report.problems > 0 ? 1 : 0;
}
