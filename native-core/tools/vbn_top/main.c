/* SPDX-License-Identifier: Apache-2.0
 * main.c - vbn-top: live view of all processes of this host that use the core. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "tool.h"
#include "top.h"

#define TOP_NAME "vbn-top"

static volatile sig_atomic_t stop;

static void on_signal(int number)
{
    (void)number;
    stop = 1;
}

static void wait_for(double seconds)
{
    struct timespec time = {.tv_sec = (time_t)seconds, .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};
    (void)nanosleep(&time, NULL); /* a signal ends it early, and the loop */
}

static void usage(void)
{
    printf("usage: vbn-top [--interval SECONDS] [--count N] [--pid PID] [--traffic] [--json]\n"
           "Shows the processes of this host that use the core: peers, messages and one-sided operations issued,\n"
           "bytes sent and received in packets, bytes copied from or to mapped memory of peers (MAPPED), sends that\n"
           "had to wait (STALLS), packets retransmitted and connections reopened (RETRIES), memory that is allocated,\n"
           "registered, or held by pools.\n"
           "A rate is the mean of the last interval (1 s); the first view shows means since the process began.\n"
           "--traffic   below each process its operations by transport, class and size, with the mean time from\n"
           "            the call to the completion\n"
           "--count N   ends after N views\n"
           "--pid PID   only this process\n"
           "--version   prints the version\n"
           "--json      every counter and all traffic as [total, change in the interval]\n");
}

static double number(const char *text, const char *option, double least, double most)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end != '\0' || !(value >= least && value <= most))
        tool_fail(TOP_NAME, "%s takes a number from %g to %g, not \"%s\"", option, least, most, text);
    return value;
}

static void run(top_t *top, double interval, long views)
{
    bool clear = isatty(STDOUT_FILENO) == 1 && !top->json;
    for (long view = 0; !stop && (views == 0 || view < views); view++) {
        if (view > 0)
            wait_for(interval);
        top_scan(top);
        top_sample(top);
        if (top->json)
            show_json(top);
        else
            show_table(top, clear);
        (void)fflush(stdout);
    }
}

int main(int argc, char **argv)
{
    static const struct option OPTIONS[] = {
        {"interval", required_argument, NULL, 'i'}, {"count", required_argument, NULL, 'n'},
        {"pid", required_argument, NULL, 'p'},      {"json", no_argument, NULL, 'j'},
        {"traffic", no_argument, NULL, 't'},        {"version", no_argument, NULL, 'V'},
        {"help", no_argument, NULL, 'h'},           {0}};
    static top_t top;
    double interval = 1;
    long views = 0;
    int option;
    opterr = 0;
    while ((option = getopt_long(argc, argv, ":i:n:p:jtVh", OPTIONS, NULL)) != -1) {
        switch (option) {
        case 'i': interval = number(optarg, "--interval", 0.01, 3600); break;
        case 'n': views = (long)number(optarg, "--count", 1, 1e9); break;
        case 'p': top.only_pid = (int)number(optarg, "--pid", 1, 4194304); break;
        case 'j': top.json = true; break;
        case 't': top.traffic = true; break;
        case 'V': tool_version(TOP_NAME);
        case 'h': usage(); return 0;
        default: tool_bad_option(TOP_NAME, option, argv);
        }
    }
    if (optind < argc)
        tool_fail(TOP_NAME, "\"%s\" is one argument too many; vbn-top --help lists the options", argv[optind]);
    struct sigaction action = {.sa_handler = on_signal};
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
    run(&top, interval, views);
    top_close(&top);
    return 0;
}
