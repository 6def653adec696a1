/* SPDX-License-Identifier: Apache-2.0
 * main.c - vbn-info: what this host offers to the core, what would be used towards a given worker and why, and what
 * to do about what is missing. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "info.h"

typedef struct options {
    const char *towards;
    const char *key_file;
    bool listen;
    unsigned seconds;
} options_t;

static void usage(FILE *out)
{
    fprintf(out,
            "usage: vbn-info [--json]\n"
            "       vbn-info --towards ADDRESS [--key FILE] [--json]\n"
            "       vbn-info --listen [--seconds N] [--key FILE]\n"
            "Says which transports open here and why, which limits matter, and what to do about what is missing.\n"
            "--listen    prints the address of a worker of its own and answers for N seconds (60)\n"
            "--towards   says which transport and which ways would be used towards the worker of that address (in\n"
            "            hexadecimal), and tries it\n"
            "--key       file with the job's key, 64 hexadecimal digits; without it security.auth=none\n"
            "--json      one array of {name, ok, value, cure}\n"
            "Settings come from the environment (VBN_*), as for every program of the core.\n"
            "Marks: ok; slow = works, the cure makes it faster; ! = something will fail.\n"
            "Exit status 0: all well, 1: something is missing (the cure is printed), 2: wrong usage.\n");
}

static bool parse(int argc, char **argv, report_t *report, options_t *options)
{
    static const struct option OPTIONS[] = {{"json", no_argument, NULL, 'j'},
                                            {"towards", required_argument, NULL, 't'},
                                            {"listen", no_argument, NULL, 'l'},
                                            {"seconds", required_argument, NULL, 's'},
                                            {"key", required_argument, NULL, 'k'},
                                            {"help", no_argument, NULL, 'h'},
                                            {0}};
    int option;
    bool good = true;
    while ((option = getopt_long(argc, argv, "jt:ls:k:h", OPTIONS, NULL)) != -1) {
        switch (option) {
        case 'j': report->json = true; break;
        case 't': options->towards = optarg; break;
        case 'l': options->listen = true; break;
        case 's': options->seconds = (unsigned)strtoul(optarg, NULL, 10); break;
        case 'k': options->key_file = optarg; break;
        case 'h': usage(stdout); exit(0);
        default: good = false;
        }
    }
    return good && optind == argc && options->seconds > 0 && !(options->listen && options->towards != NULL);
}

static void tell_host(report_t *report)
{
    tell(report, "version", GRADE_OK, NULL, "%s", VBN_VERSION_STRING);
    tell_transport(report, "self");
    tell_transport(report, "shm");
    tell_devices(report);
    tell_transport(report, "tcp");
    tell_limits(report);
}

int main(int argc, char **argv)
{
    report_t report = {.first = true};
    options_t options = {.seconds = 60};
    int code = 0;
    if (!parse(argc, argv, &report, &options)) {
        usage(stderr);
        return 2;
    }
    if (options.listen)
        return listen_for(options.key_file, options.seconds);
    if (report.json)
        printf("[\n");
    if (options.towards != NULL)
        code = tell_peer(&report, options.key_file, options.towards);
    else
        tell_host(&report);
    if (report.json)
        printf("\n]\n");
    return code != 0 ? code : report.problems > 0;
}
