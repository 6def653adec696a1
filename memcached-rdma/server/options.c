/* SPDX-License-Identifier: Apache-2.0
 * options.c - flags of the command line. */
#include "server/options.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIB ((size_t)1 << 20)
#define ITEM_LEAST 1024u
#define ITEM_MOST (1024 * MIB)
#define THREADS_SENSIBLE 64u /* memcached warns above it */
#define MEMORY_MOST_MB ((uint64_t)SIZE_MAX >> 21)

/* clang-format off */
static const struct option long_options[] = {
    {"port", required_argument, NULL, 'p'},          {"udp-port", required_argument, NULL, 'U'},
    {"unix-socket", required_argument, NULL, 's'},   {"unix-mask", required_argument, NULL, 'a'},
    {"enable-shutdown", no_argument, NULL, 'A'},     {"listen", required_argument, NULL, 'l'},
    {"daemon", no_argument, NULL, 'd'},              {"enable-coredumps", no_argument, NULL, 'r'},
    {"user", required_argument, NULL, 'u'},          {"memory-limit", required_argument, NULL, 'm'},
    {"disable-evictions", no_argument, NULL, 'M'},   {"conn-limit", required_argument, NULL, 'c'},
    {"lock-memory", no_argument, NULL, 'k'},         {"verbose", no_argument, NULL, 'v'},
    {"help", no_argument, NULL, 'h'},                {"license", no_argument, NULL, 'i'},
    {"version", no_argument, NULL, 'V'},             {"pidfile", required_argument, NULL, 'P'},
    {"slab-growth-factor", required_argument, NULL, 'f'}, {"slab-min-size", required_argument, NULL, 'n'},
    {"enable-largepages", no_argument, NULL, 'L'},   {"threads", required_argument, NULL, 't'},
    {"max-reqs-per-event", required_argument, NULL, 'R'}, {"disable-cas", no_argument, NULL, 'C'},
    {"listen-backlog", required_argument, NULL, 'b'}, {"protocol", required_argument, NULL, 'B'},
    {"max-item-size", required_argument, NULL, 'I'}, {"enable-sasl", no_argument, NULL, 'S'},
    {"disable-flush-all", no_argument, NULL, 'F'},   {"disable-dumping", no_argument, NULL, 'X'},
    {"disable-watch", no_argument, NULL, 'W'},       {"auth-file", required_argument, NULL, 'Y'},
    {"memory-file", required_argument, NULL, 'e'},   {"enable-ssl", no_argument, NULL, 'Z'},
    {"extended", required_argument, NULL, 'o'},      {"napi-ids", required_argument, NULL, 'N'},
    {NULL, 0, NULL, 0}};
/* clang-format on */
static const char short_options[] = "p:U:s:a:Al:dru:m:Mc:kvhiVP:f:n:LD:t:R:Cb:B:I:SFXWY:e:Zo:N:";

static const char help_text[] =
    "memcached 1.6.18 (verbena-memcached " VBN_VERSION_STRING ")\n"
    "-p, --port=<num>          TCP port to listen on (default: 11211)\n"
    "-s, --unix-socket=<file>  UNIX socket to listen on (disables network support)\n"
    "-a, --unix-mask=<mask>    access mask for UNIX socket, in octal (default: 700)\n"
    "-A, --enable-shutdown     enable ascii \"shutdown\" command\n"
    "-l, --listen=<addr>       interface to listen on (default: INADDR_ANY)\n"
    "-d, --daemon              run as a daemon\n"
    "-r, --enable-coredumps    maximize core file limit\n"
    "-u, --user=<user>         assume identity of <username> (only when run as root)\n"
    "-m, --memory-limit=<num>  item memory in megabytes (default: 64)\n"
    "-M, --disable-evictions   return error on memory exhausted instead of evicting\n"
    "-c, --conn-limit=<num>    max simultaneous connections (default: 1024)\n"
    "-k, --lock-memory         lock down all paged memory\n"
    "-v, --verbose             verbose (print errors/warnings while in event loop)\n"
    "-vv                       very verbose (also print client commands/responses)\n"
    "-h, --help                print this help and exit\n"
    "-i, --license             print the license and exit\n"
    "-V, --version             print version and exit\n"
    "-P, --pidfile=<file>      save PID in <file>, only used with -d option\n"
    "-f, --slab-growth-factor=<num> accepted, no effect (default: 1.25)\n"
    "-n, --slab-min-size=<bytes> accepted, no effect (default: 48)\n"
    "-t, --threads=<num>       number of threads to use (default: 4)\n"
    "-R, --max-reqs-per-event  maximum number of requests per event, limits the\n"
    "                          requests processed per connection to prevent\n"
    "                          starvation (default: 20)\n"
    "-C, --disable-cas         disable use of CAS\n"
    "-b, --listen-backlog=<num> set the backlog queue limit (default: 1024)\n"
    "-B, --protocol=<name>     protocol - one of ascii or auto (default: auto-negotiate)\n"
    "-I, --max-item-size=<num> adjusts max item size\n"
    "                          (default: 1m, min: 1k, max: 1024m)\n"
    "-F, --disable-flush-all   disable flush_all command\n"
    "-X, --disable-dumping     accepted, no effect: nothing is dumped\n"
    "-W, --disable-watch       accepted, no effect: there is nothing to watch\n"
    "-o, --extended            comma separated list of extended options\n"
    "   - maxconns_fast:       immediately close new connections after limit (default: enabled)\n"
    "   - track_sizes:         enable dynamic reports for 'stats sizes' command.\n"
    "   - verbena_key:         file with the key of message clients (default: below $XDG_RUNTIME_DIR or /tmp)\n"
    "   - verbena_auth=none:   message clients need no key\n"
    "   - verbena_core:        settings of the native core, key=value:key=value\n"
    "   - verbena_onesided:    on or off: message clients may read items directly (default: clients of this user)\n"
    "   - verbena_lease:       ms in which a message client must take an answer (default: 1000)\n"
    "   Words that tune slabs, the LRU and the hash table are accepted and have no effect.\n"
    "docs/memcached.md of Verbena lists missing commands and flags.\n";

static bool wrong(const char *what, const char *value, const char *cure)
{
    fprintf(stderr, "verbena-memcached: %s '%s': %s\n", what, value, cure);
    return false;
}

static bool read_number(const char *flag, const char *text, uint64_t least, uint64_t most, uint64_t *value_p)
{
    char *end;
    char cure[96];
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (isdigit((unsigned char)*text) && *end == '\0' && errno == 0 && value >= least && value <= most) {
        *value_p = value;
        return true;
    }
    (void)snprintf(cure, sizeof(cure), "give a number from %llu to %llu", (unsigned long long)least,
                   (unsigned long long)most);
    return wrong(flag, text, cure);
}

/* Sizes as -I takes them: bytes, or with k or m behind the number. */
static bool read_item_size(const char *text, size_t *bytes_p)
{
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    unsigned shift = *end == 'k' || *end == 'K' ? 10 : *end == 'm' || *end == 'M' ? 20 : 0;
    bool whole = isdigit((unsigned char)*text) && errno == 0 && end[shift != 0] == '\0' && value < ((uint64_t)1 << 40);
    if (!whole || value << shift < ITEM_LEAST || value << shift > ITEM_MOST)
        return wrong("-I", text, "give a size from 1k to 1024m");
    *bytes_p = (size_t)(value << shift);
    return true;
}

static bool read_mask(const char *text, unsigned *mask_p)
{
    char *end;
    unsigned long value = strtoul(text, &end, 8);
    if (end == text || *end != '\0' || value > 0777)
        return wrong("-a", text, "give an access mask in octal, such as 700");
    *mask_p = (unsigned)value;
    return true;
}

static bool add_listen(settings_t *settings, char *list)
{
    char *rest = NULL;
    for (char *word = strtok_r(list, ";,", &rest); word != NULL; word = strtok_r(NULL, ";,", &rest)) {
        if (strncmp(word, "notls:", 6) == 0)
            word += 6;
        if (settings->listen_count == LISTENERS_MAX)
            return wrong("-l", word, "too many addresses");
        settings->listen[settings->listen_count++] = word;
    }
    return true;
}

static bool read_words(settings_t *settings, char *list)
{
    char *rest = NULL;
    for (char *word = strtok_r(list, ",", &rest); word != NULL; word = strtok_r(NULL, ",", &rest)) {
        char *value = strchr(word, '=');
        if (value != NULL)
            *value++ = '\0';
        if (!options_word(settings, word, value))
            return false;
    }
    return true;
}

static bool absent(int flag)
{
    fprintf(stderr, "verbena-memcached: -%c is not there yet (docs/memcached.md of Verbena); leave it out\n", flag);
    return false;
}

static bool no_effect(int flag)
{
    fprintf(stderr, "verbena-memcached: -%c is accepted, no effect\n", flag);
    return true;
}

/* Flags with numbers. */
static bool read_numeric(settings_t *settings, int flag, const char *text)
{
    char name[3] = {'-', (char)flag, '\0'};
    uint64_t value = 0;
    bool any_port = flag == 'p' && strcmp(text, "-1") == 0;
    uint64_t most = flag == 'p' || flag == 'U' ? 65535
                    : flag == 'm'              ? MEMORY_MOST_MB
                    : flag == 't'              ? WORKERS_MAX
                                               : 1u << 30;
    uint64_t least = flag == 'p' || flag == 'U' ? 0 : 1;
    if (!any_port && !read_number(name, text, least, most, &value))
        return false;
    switch (flag) {
    case 'p': settings->port = any_port ? -1 : (int)value; break;
    case 'm': settings->memory_bytes = (size_t)value * MIB; break;
    case 'c': settings->connections_max = (unsigned)value; break;
    case 't':
        settings->threads = (unsigned)value;
        if (value > THREADS_SENSIBLE)
            fprintf(stderr, "verbena-memcached: -t %s: more threads than processors gain nothing; give at most %u\n",
                    text, THREADS_SENSIBLE);
        break;
    case 'b': settings->backlog = (unsigned)value; break;
    case 'R': settings->requests_per_event = (unsigned)value; break;
    case 'n': settings->chunk_bytes = (unsigned)value; return no_effect(flag);
    default: return value == 0 || absent(flag); /* -U 0 is what there is */
    }
    return true;
}

/* Flags with texts. */
static bool read_text(settings_t *settings, int flag, char *text)
{
    switch (flag) {
    case 's': settings->socket_path = text; return true;
    case 'a': return read_mask(text, &settings->socket_mask);
    case 'l': return add_listen(settings, text);
    case 'u': settings->user = text; return true;
    case 'P': settings->pid_file = text; return true;
    case 'I': return read_item_size(text, &settings->item_max);
    case 'f': settings->growth_factor = atof(text); return no_effect(flag);
    case 'B':
        settings->ascii = strcmp(text, "ascii") == 0;
        if (strcmp(text, "auto") == 0 || settings->ascii)
            return true;
        return wrong("-B", text, "the binary protocol is not there yet; give ascii or auto");
    case 'o': return read_words(settings, text);
    default: return absent(flag);
    }
}

static bool read_switch(settings_t *settings, int flag)
{
    switch (flag) {
    case 'A': settings->shutdown_enabled = true; return true;
    case 'd': settings->daemon = true; return true;
    case 'r': settings->core_dumps = true; return true;
    case 'M': settings->evict = false; return true;
    case 'k': settings->lock_memory = true; return true;
    case 'v': settings->verbosity++; return true;
    case 'C': settings->cas = false; return true;
    case 'F': settings->flush_enabled = false; return true;
    case 'X': settings->dump_enabled = false; return true;
    case 'W': return true;
    default: return absent(flag);
    }
}

static bool unknown(char **argv)
{
    const char *words[sizeof(long_options) / sizeof(long_options[0])] = {0};
    for (size_t i = 0; long_options[i].name != NULL; i++)
        words[i] = long_options[i].name;
    const char *given = argv[optind - 1];
    if (optopt != 0 && strchr(short_options, optopt) != NULL) {
        fprintf(stderr, "verbena-memcached: -%c needs a value\n", optopt);
        return false;
    }
    fprintf(stderr, "verbena-memcached: unknown option '%s'", given);
    options_suggest(given + strspn(given, "-"), words, "--");
    fprintf(stderr, "; -h lists all\n");
    return false;
}

static bool check(const settings_t *settings)
{
    if (settings->item_max > settings->memory_bytes / 2)
        return wrong("-I", "too large", "an item may take half of the memory: raise -m");
    if (settings->no_auth && settings->onesided == ONESIDED_ON)
        return wrong("-o", "verbena_onesided=on",
                     "with verbena_auth=none everybody could read all items; leave one of them out");
    return true;
}

options_result_t options_read(int argc, char **argv, settings_t *settings)
{
    *settings = (settings_t){.port = 11211,
                             .socket_mask = 0700,
                             .memory_bytes = 64 * MIB,
                             .evict = true,
                             .cas = true,
                             .flush_enabled = true,
                             .dump_enabled = true,
                             .item_max = MIB,
                             .connections_max = 1024,
                             .threads = 4,
                             .lease_ms = 1000,
                             .requests_per_event = 20,
                             .backlog = 1024,
                             .growth_factor = 1.25,
                             .chunk_bytes = 48};
    int flag;
    bool good = true;
    opterr = 0;
    while (good && (flag = getopt_long(argc, argv, short_options, long_options, NULL)) != -1) {
        if (flag == 'h' || flag == 'V' || flag == 'i') {
            fputs(flag == 'h'   ? help_text
                  : flag == 'V' ? "memcached 1.6.18\n"
                                : "Apache-2.0: see LICENSE of Verbena\n",
                  stdout);
            return OPTIONS_DONE;
        }
        if (flag == '?')
            good = unknown(argv);
        else if (strchr("pUmctbRn", flag) != NULL)
            good = read_numeric(settings, flag, optarg);
        else
            good = optarg != NULL ? read_text(settings, flag, optarg) : read_switch(settings, flag);
    }
    if (good && optind < argc)
        good = wrong("unexpected word", argv[optind], "-h lists the options");
    return good && check(settings) ? OPTIONS_RUN : OPTIONS_WRONG;
}
