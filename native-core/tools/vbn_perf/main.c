/* SPDX-License-Identifier: Apache-2.0
 * main.c - vbn-perf: two processes measure the core and, in turn with it, the bare mechanism below it. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "perf.h"

static void serve(side_t *side, const char *transport)
{
    uint64_t seen = 0;
    open_side(side, transport);
    serve_tags(side);
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
    side = (side_t){.shared = share(sizeof(shared_t)),
                    .raw = share(REGION),
                    .stages = settings->stages,
                    .transport = transport,
                    .pypi_ucx = settings->pypi_ucx,
                    .cpus = settings->cpus};
    end_together(side.shared);
    raw_pair(pair);
    (void)fflush(stdout);
    const pid_t own = getpid();
    pid_t pid = fork();
    if (pid < 0)
        fail_system("fork");
    if (pid == 0)
        end_with(own);
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
    end_together(NULL);
}

static const char *const TRANSPORTS[] = {"shm", "tcp", "rc", "ud"};

static const char *transport_name(size_t index)
{
    return index < sizeof(TRANSPORTS) / sizeof(TRANSPORTS[0]) ? TRANSPORTS[index] : NULL;
}

static void usage(void)
{
    printf("usage: vbn-perf [--transport shm,tcp,rc,ud] [--row core.am.latency,...] [--size 8,64,...] [--blocks 5]\n"
           "                [--scale 1.0] [--cpus 0,1] [--stages checksum,lz4|zstd] [--pypi-ucx DIR]\n"
           "                [--table]\n"
           "       vbn-perf --self [--blocks 5] [--scale 1.0]\n"
           "       vbn-perf --version\n"
           "Prints one JSON line per row, or a table. ratio = ours / bare reference. --scale: factor of repetitions.\n"
           "--stages: checksum or compression of pulled messages; their data compresses to about two thirds.\n"
           "--pypi-ucx: folder of another UCX (DIR/bin/ucx_perftest, DIR/lib), for the rows core.pypi-ucx.*.\n"
           "--self: cost of a get and of a message of 8 bytes within one process, in batches of 16.\n"
           "Exit status 0: measured, 2: an error, in one line.\nRows:");
    for (size_t i = 0; row_name(i) != NULL; i++)
        printf(" %s", row_name(i));
    printf("\n");
}

/* Ends the program unless every word of the list is one of the names. */
static const char *check_list(const char *option, const char *list, const char *(*name)(size_t index))
{
    for (const char *word = list;; word += strcspn(word, ",") + 1) {
        size_t length = strcspn(word, ",");
        size_t i = 0;
        while (name(i) != NULL && (strlen(name(i)) != length || memcmp(name(i), word, length) != 0))
            i++;
        if (name(i) == NULL)
            perf_fail("%s knows no \"%.*s\"; vbn-perf --help lists the values", option, (int)length, word);
        if (word[length] == '\0')
            return list;
    }
}

/* Ends the program unless these are numbers of bytes up to REGION, separated by commas. */
static const char *check_sizes(const char *list)
{
    for (const char *p = list;; p++) {
        char *end;
        unsigned long long size = strtoull(p, &end, 10);
        if (*p < '0' || *p > '9' || size > REGION || (*end != ',' && *end != '\0'))
            perf_fail("--size takes numbers of bytes up to %zu, separated by commas, not \"%s\"", REGION, list);
        if (*end == '\0')
            return list;
        p = end;
    }
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

static double parse_number(const char *option, const char *text, double least, double most)
{
    char *end;
    double number = strtod(text, &end);
    if (end == text || *end != '\0' || !(number >= least && number <= most))
        perf_fail("%s takes a number from %g to %g, not \"%s\"", option, least, most, text);
    return number;
}

static void parse_cpus(const char *text, int cpus[2])
{
    int used = 0;
    if (sscanf(text, "%d,%d%n", &cpus[0], &cpus[1], &used) != 2 || text[used] != '\0')
        perf_fail("--cpus takes two numbers of processors, as in 0,1, not \"%s\"", text);
}

static void take_option(int option, char **argv, perf_settings_t *settings)
{
    switch (option) {
    case 't': settings->transports = check_list("--transport", optarg, transport_name); break;
    case 'r': settings->rows = check_list("--row", optarg, row_name); break;
    case 's': settings->sizes = check_sizes(optarg); break;
    case 'b': settings->blocks = (unsigned)parse_number("--blocks", optarg, 1, MAX_BLOCKS); break;
    case 'x': settings->scale = parse_number("--scale", optarg, 1e-6, 1e6); break;
    case 'c': parse_cpus(optarg, settings->cpus); break;
    case 'g':
        if (!parse_stages(optarg, &settings->stages))
            perf_fail("--stages takes checksum and one of lz4 and zstd, separated by commas, not \"%s\"", optarg);
        break;
    case 'u': settings->pypi_ucx = optarg; break;
    case 'T': settings->table = true; break;
    case 'S': settings->self = true; break;
    case 'V': tool_version(PERF_NAME);
    case 'h': usage(); exit(0);
    default: tool_bad_option(PERF_NAME, option, argv);
    }
}

static void parse(int argc, char **argv, perf_settings_t *settings)
{
    /* clang-format off */
    static const struct option OPTIONS[] = {
        {"transport", required_argument, NULL, 't'}, {"row", required_argument, NULL, 'r'},
        {"size", required_argument, NULL, 's'},      {"blocks", required_argument, NULL, 'b'},
        {"scale", required_argument, NULL, 'x'},     {"cpus", required_argument, NULL, 'c'},
        {"stages", required_argument, NULL, 'g'},    {"pypi-ucx", required_argument, NULL, 'u'},
        {"table", no_argument, NULL, 'T'},           {"self", no_argument, NULL, 'S'},
        {"version", no_argument, NULL, 'V'},         {"help", no_argument, NULL, 'h'},
        {0}};
    /* clang-format on */
    int option;
    opterr = 0;
    while ((option = getopt_long(argc, argv, ":t:r:s:b:x:c:g:u:TSVh", OPTIONS, NULL)) != -1)
        take_option(option, argv, settings);
    if (optind < argc)
        perf_fail("\"%s\" is one argument too many; vbn-perf --help lists the options", argv[optind]);
}

/* What every context here would refuse: told once, before there are two processes. */
static void check_environment(void)
{
    vbn_config_t *config;
    if (vbn_config_create(&config) != VBN_OK)
        perf_fail("%s", vbn_error_text());
    vbn_config_destroy(config);
}

int main(int argc, char **argv)
{
    perf_settings_t settings = {.transports = "shm,tcp", .blocks = 5, .scale = 1.0, .cpus = {0, 1}};
    parse(argc, argv, &settings);
    check_environment();
    if (settings.self) {
        pin(settings.cpus[0]);
        run_self(&settings);
        return 0;
    }
    if (settings.table)
        printf("%-20s %-4s %9s  %12s %12s  %-5s %6s\n", "row", "over", "bytes", "ours", "raw", "unit", "ratio");
    for (size_t i = 0; transport_name(i) != NULL; i++)
        if (listed(settings.transports, transport_name(i)))
            run_transport(transport_name(i), &settings);
    return 0;
}
