/* SPDX-License-Identifier: Apache-2.0
 * main.c - vbn-perf: two processes measure the core and, in turn with it, the bare mechanism below it. */
#include <errno.h>
#include <getopt.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "perf.h"

double now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

_Noreturn void fail(const char *what)
{
    fprintf(stderr, "vbn-perf: %s: %s\n", what, vbn_error_text());
    exit(1);
}

void check(vbn_status_t status, const char *what)
{
    if (status < 0)
        fail(what);
}

_Noreturn void fail_system(const char *what)
{
    fprintf(stderr, "vbn-perf: %s: %s\n", what, strerror(errno));
    exit(1);
}

void pin(int cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((unsigned)cpu, &set);
    if (cpu >= 0 && sched_setaffinity(0, sizeof(set), &set) != 0)
        fprintf(stderr, "vbn-perf: cannot run on cpu %d (%s); results will be noisy\n", cpu, strerror(errno));
}

static void serve(side_t *side, const char *transport)
{
    uint64_t seen = 0;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    open_side(side, transport);
    for (;;) {
        (void)vbn_progress(side->worker);
        uint64_t wanted = atomic_load(&side->shared->command);
        if (wanted == seen)
            continue;
        seen = wanted;
        if ((wanted & 0xff) == RAW_STOP)
            break;
        raw_serve(side, (raw_kind_t)(wanted & 0xff));
        atomic_store(&side->shared->done, wanted);
    }
    close_side(side);
    _exit(0);
}

static void *share(size_t bytes)
{
    void *address = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (address == MAP_FAILED)
        fail_system("shared pages");
    memset(address, 0, bytes);
    return address;
}

static void run_transport(const char *transport, const perf_settings_t *settings)
{
    static side_t side;
    int pair[2];
    side = (side_t){.shared = share(sizeof(shared_t)), .raw = share(REGION), .stages = settings->stages,
                    .transport = transport, .cpus = settings->cpus};
    raw_pair(pair);
    (void)fflush(stdout);
    pid_t pid = fork();
    if (pid < 0)
        fail_system("fork");
    side.rank = pid == 0;
    side.socket = pair[side.rank];
    close(pair[1 - side.rank]);
    pin(settings->cpus[side.rank]);
    if (pid == 0)
        serve(&side, transport);
    open_side(&side, transport);
    connect_client(&side);
    run_rows(&side, transport, settings);
    raw_command(&side, RAW_STOP, 0, 0);
    close_side(&side);
    (void)waitpid(pid, NULL, 0);
    close(side.socket);
    (void)munmap(side.raw, REGION);
    (void)munmap(side.shared, sizeof(shared_t));
}

static void usage(FILE *out)
{
    fprintf(out, "usage: vbn-perf [--transport shm,tcp,rc,ud] [--row core.am.latency,...] [--size 8,64,...] [--blocks 5]\n"
                 "                [--scale 1.0] [--cpus 0,1] [--stages checksum,lz4|zstd] [--table]\n"
                 "       vbn-perf --self [--blocks 5] [--scale 1.0]\n"
                 "Prints one JSON line per row, or a table. ratio = ours / raw. --scale: repetitions, relative.\n"
                 "--stages: of the messages that are pulled; their data packs to about two thirds.\n"
                 "--self: cost of a get and of a message of 8 bytes within one process, in batches of 16.\nRows:");
    for (size_t i = 0; row_name(i) != NULL; i++)
        fprintf(out, " %s", row_name(i));
    fprintf(out, "\n");
}

static bool parse_stages(const char *list, unsigned *stages)
{
    static const struct {
        const char *name;
        unsigned flag;
    } STAGES[] = {{"checksum", VBN_SEND_CHECKSUM}, {"lz4", VBN_SEND_LZ4}, {"zstd", VBN_SEND_ZSTD}};
    size_t known = 0; /* characters */
    for (size_t i = 0; i < sizeof(STAGES) / sizeof(STAGES[0]); i++)
        if (listed(list, STAGES[i].name)) {
            *stages |= STAGES[i].flag;
            known += strlen(STAGES[i].name) + 1;
        }
    return known == strlen(list) + 1 && *stages != (*stages | VBN_SEND_LZ4 | VBN_SEND_ZSTD);
}

static void parse(int argc, char **argv, perf_settings_t *settings)
{
    static const struct option OPTIONS[] = {
        {"transport", required_argument, NULL, 't'}, {"row", required_argument, NULL, 'r'},
        {"size", required_argument, NULL, 's'},      {"blocks", required_argument, NULL, 'b'},
        {"scale", required_argument, NULL, 'x'},     {"cpus", required_argument, NULL, 'c'},
        {"stages", required_argument, NULL, 'g'},   {"table", no_argument, NULL, 'T'},           {"self", no_argument, NULL, 'S'},
        {"help", no_argument, NULL, 'h'},            {0}};
    int option;
    bool good = true;
    while ((option = getopt_long(argc, argv, "t:r:s:b:x:c:g:TSh", OPTIONS, NULL)) != -1) {
        switch (option) {
        case 't': settings->transports = optarg; break;
        case 'r': settings->rows = optarg; break;
        case 's': settings->sizes = optarg; break;
        case 'b': settings->blocks = (unsigned)strtoul(optarg, NULL, 10); break;
        case 'x': settings->scale = strtod(optarg, NULL); break;
        case 'c': good = sscanf(optarg, "%d,%d", &settings->cpus[0], &settings->cpus[1]) == 2; break;
        case 'g': good = parse_stages(optarg, &settings->stages); break;
        case 'T': settings->table = true; break;
        case 'S': settings->self = true; break;
        case 'h': usage(stdout); exit(0);
        default: good = false;
        }
    }
    if (!good || optind != argc || settings->blocks < 1 || settings->blocks > MAX_BLOCKS || settings->scale <= 0) {
        usage(stderr);
        exit(2);
    }
}

int main(int argc, char **argv)
{
    perf_settings_t settings = {.transports = "shm,tcp", .blocks = 5, .scale = 1.0, .cpus = {0, 1}};
    parse(argc, argv, &settings);
    if (settings.self) {
        pin(settings.cpus[0]);
        run_self(&settings);
        return 0;
    }
    if (settings.table)
        printf("%-20s %-4s %9s  %12s %12s  %-5s %6s\n", "row", "over", "bytes", "ours", "raw", "unit", "ratio");
    static const char *const TRANSPORTS[] = {"shm", "tcp", "rc", "ud"};
    for (size_t i = 0; i < sizeof(TRANSPORTS) / sizeof(TRANSPORTS[0]); i++)
        if (listed(settings.transports, TRANSPORTS[i]))
            run_transport(TRANSPORTS[i], &settings);
    return 0;
}
