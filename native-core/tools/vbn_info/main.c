/* SPDX-License-Identifier: Apache-2.0
 * main.c - vbn-info: what this host offers to the core, what would be used towards a given worker and why, and what
 * to do about what is missing. */
#include <unistd.h>

#include "info.h"

typedef struct options {
    const char *towards;
    const char *key_file;
    const char *new_key;
    bool listen;
    bool settings;
    unsigned seconds;
} options_t;

static void usage(void)
{
    printf(
        "usage: vbn-info [--json]\n"
        "       vbn-info --towards ADDRESS [--key FILE] [--json]\n"
        "       vbn-info --listen [--seconds N] [--key FILE]\n"
        "       vbn-info --settings [--json]\n"
        "       vbn-info --new-key FILE\n"
        "Lists the transports of this host, with the reason why one does not open, and limits with their cures.\n"
        "--listen    opens a worker, prints its address, and answers peers for N seconds (60)\n"
        "--towards   names the transport and the protocols (eager, rendezvous, ...) that a peer of this address\n"
        "            (hexadecimal) gets, and sends messages to the peer\n"
        "--key       file with the job's key; without it security.auth=none\n"
        "--settings  prints all settings, their values here and their meaning\n"
        "--new-key   makes a job key in a new file that only its owner can read; all processes of a job need this key\n"
        "--json      one array of {name, ok, value, cure}; with --settings of {key, env, type, default, value, ...}\n"
        "--version   prints the version\n"
        "Settings come from the environment (VBN_*), as for every program of the core.\n"
        "Marks: ok; slow = works, the cure makes it faster; ! = something will fail; off = not in tl.enable; none = not\n"
        "on this host, and not needed.\n"
        "Exit status 0: no problem, 1: something is missing (the cure is printed), 2: an error, in one line.\n");
}

static unsigned parse_seconds(const char *text)
{
    char *end;
    unsigned long seconds = strtoul(text, &end, 10);
    if (*text < '0' || *text > '9' || *end != '\0' || seconds < 1 || seconds > 1000000000)
        info_fail("--seconds takes a number from 1 up, not \"%s\"", text);
    return (unsigned)seconds;
}

static void parse(int argc, char **argv, report_t *report, options_t *options)
{
    static const struct option OPTIONS[] = {
        {"json", no_argument, NULL, 'j'},          {"towards", required_argument, NULL, 't'},
        {"listen", no_argument, NULL, 'l'},        {"seconds", required_argument, NULL, 's'},
        {"key", required_argument, NULL, 'k'},     {"settings", no_argument, NULL, 'S'},
        {"new-key", required_argument, NULL, 'n'}, {"version", no_argument, NULL, 'V'},
        {"help", no_argument, NULL, 'h'},          {0}};
    int option;
    opterr = 0;
    while ((option = getopt_long(argc, argv, ":jt:ls:k:Sn:Vh", OPTIONS, NULL)) != -1) {
        switch (option) {
        case 'j': report->json = true; break;
        case 't': options->towards = optarg; break;
        case 'l': options->listen = true; break;
        case 's': options->seconds = parse_seconds(optarg); break;
        case 'k': options->key_file = optarg; break;
        case 'S': options->settings = true; break;
        case 'n': options->new_key = optarg; break;
        case 'V': tool_version(INFO_NAME);
        case 'h': usage(); exit(0);
        default: tool_bad_option(INFO_NAME, option, argv);
        }
    }
    if (optind < argc)
        info_fail("\"%s\" is one argument too many; vbn-info --help lists the options", argv[optind]);
    if (options->listen + options->settings + (options->towards != NULL) + (options->new_key != NULL) > 1)
        info_fail("--listen, --towards, --settings and --new-key are different things to do: name one");
}

static void tell_host(report_t *report, const here_t *here)
{
    tell(report, "version", GRADE_OK, NULL, "%s", VBN_VERSION_STRING);
    tell_worker(report, here);
    tell_transport(report, here, "self");
    tell_transport(report, here, "shm");
    tell_devices(report, here);
    tell_transport(report, here, "tcp");
    tell_limits(report);
}

int main(int argc, char **argv)
{
    report_t report = {.first = true};
    options_t options = {.seconds = 60};
    here_t here;
    parse(argc, argv, &report, &options);
    if (options.new_key != NULL)
        return new_key(options.new_key);
    settings_defaults(&here.settings);
    if (settings_from_env(&here.settings, environ, here.foreign, sizeof(here.foreign)) < 0)
        info_fail("%s", vbn_error_text());
    if (options.listen)
        return listen_for(options.key_file, options.seconds);
    if (options.settings)
        print_settings(&report, &here);
    else if (options.towards != NULL)
        tell_peer(&report, options.key_file, options.towards);
    else
        tell_host(&report, &here);
    if (report.json)
        printf("\n]\n");
    return report.problems > 0;
}
