/* SPDX-License-Identifier: Apache-2.0
 * vbn_top.c - live view of all processes of this host that use the core, read from their statistics pages.
 *
 * A page is found through /proc/<pid>/fd (stats_format.h), so one sees the processes of one's own user, root sees all.
 * Rates are differences of two looks at the same page, divided by the time between them. */
#include <ctype.h>
#include <dirent.h>
#include <getopt.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/os.h"
#include "base/stats_format.h"

#define PAGES_MAX 1024
#define COUNTERS_SHOWN 256

typedef struct page {
    int pid;
    char command[32];
    stats_view_t view;
    uint64_t seen_ns; /* time of `now` */
    uint64_t before[COUNTERS_SHOWN];
    uint64_t now[COUNTERS_SHOWN];
    double seconds; /* between the two; since the page was opened when it is new */
    bool alive;
} page_t;

typedef struct top {
    page_t *pages[PAGES_MAX];
    size_t count;
    unsigned denied; /* processes whose descriptors may not be read */
    int only_pid;
    bool json;
} top_t;

static volatile sig_atomic_t stop;

static void on_signal(int number)
{
    (void)number;
    stop = 1;
}

/* ---------------------------------------------------------------------------------------------- finding */

static void read_command(int pid, char *text, size_t capacity)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/comm", pid);
    FILE *file = fopen(path, "r");
    size_t length = file == NULL ? 0 : fread(text, 1, capacity - 1, file);
    if (file != NULL)
        (void)fclose(file);
    text[length] = '\0';
    for (char *at = text; *at != '\0'; at++) {
        if (*at == '\n')
            *at = '\0';
        else if (!isprint((unsigned char)*at) || *at == '"' || *at == '\\')
            *at = '?'; /* the name is the process's own choice: keep the terminal and the JSON whole */
    }
}

static page_t *find_page(const top_t *top, uint64_t inode)
{
    for (size_t i = 0; i < top->count; i++)
        if (top->pages[i]->view.inode == inode)
            return top->pages[i];
    return NULL;
}

/* A page that is known already, or inherited over fork, is kept with its first process. */
static void add_page(top_t *top, int pid, const char *path)
{
    stats_view_t view;
    if (stats_view_open(path, &view) != VBN_OK)
        return;
    page_t *known = find_page(top, view.inode);
    page_t *page = known == NULL && top->count < PAGES_MAX ? calloc(1, sizeof(*page)) : NULL;
    if (page == NULL) {
        if (known != NULL)
            known->alive = true;
        stats_view_close(&view);
        return;
    }
    *page = (page_t){.pid = pid, .view = view, .seen_ns = view.header.opened_ns, .alive = true};
    read_command(pid, page->command, sizeof(page->command));
    top->pages[top->count++] = page;
}

static void scan_process(top_t *top, int pid)
{
    char folder[64], path[352], target[64];
    snprintf(folder, sizeof(folder), "/proc/%d/fd", pid);
    DIR *dir = opendir(folder);
    if (dir == NULL) {
        top->denied++;
        return;
    }
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
        ssize_t length = readlink(path, target, sizeof(target) - 1);
        target[length > 0 ? length : 0] = '\0';
        if (strncmp(target, "/memfd:" STATS_MEMFD_NAME " ", sizeof("/memfd:" STATS_MEMFD_NAME)) == 0)
            add_page(top, pid, path);
    }
    (void)closedir(dir);
}

static void forget_dead(top_t *top)
{
    size_t kept = 0;
    for (size_t i = 0; i < top->count; i++) {
        page_t *page = top->pages[i];
        if (page->alive) {
            top->pages[kept++] = page;
            continue;
        }
        stats_view_close(&page->view);
        free(page);
    }
    top->count = kept;
}

static void scan(top_t *top)
{
    DIR *proc = opendir("/proc");
    top->denied = 0;
    for (size_t i = 0; i < top->count; i++)
        top->pages[i]->alive = false;
    for (struct dirent *entry; proc != NULL && (entry = readdir(proc)) != NULL;) {
        int pid = atoi(entry->d_name);
        if (pid > 0 && (top->only_pid == 0 || pid == top->only_pid))
            scan_process(top, pid);
    }
    if (proc != NULL)
        (void)closedir(proc);
    forget_dead(top);
}

static void sample(top_t *top)
{
    for (size_t i = 0; i < top->count; i++) {
        page_t *page = top->pages[i];
        uint64_t now_ns = os_now_ns();
        memcpy(page->before, page->now, sizeof(page->before));
        for (uint32_t id = 0; id < page->view.header.counters && id < COUNTERS_SHOWN; id++)
            page->now[id] = stats_view_sum(&page->view, id);
        page->seconds = now_ns > page->seen_ns ? (double)(now_ns - page->seen_ns) * 1e-9 : 1e-9;
        page->seen_ns = now_ns;
    }
}

/* ---------------------------------------------------------------------------------------------- showing */

typedef enum which { TOTAL, RATE } which_t;

/* Adds up the counters whose names end so; unknown names simply add nothing. */
static double add_up(const page_t *page, which_t which, const char *const *endings)
{
    double sum = 0;
    for (uint32_t id = 0; id < page->view.header.counters && id < COUNTERS_SHOWN; id++) {
        const char *name = stats_view_name(&page->view, id);
        size_t length = name == NULL ? 0 : strlen(name);
        for (const char *const *ending = endings; name != NULL && *ending != NULL; ending++) {
            size_t tail = strlen(*ending);
            if (length >= tail && strcmp(name + length - tail, *ending) == 0)
                sum += (double)(page->now[id] - (which == RATE ? page->before[id] : 0));
        }
    }
    return which == RATE ? sum / page->seconds : sum;
}

static void show_line(const page_t *page)
{
    static const char *const CONNECTED[] = {"peers.connected", NULL}, *const LOST[] = {"peers.lost", NULL};
    static const char *const MESSAGES[] = {"am.small", "am.large", NULL}, *const OUT[] = {".tx.bytes", NULL};
    static const char *const IN[] = {".rx.bytes", NULL}, *const MEMORY[] = {"mem.bytes", NULL};
    static const char *const MAPPED[] = {"get.mapped.bytes", "put.mapped.bytes", NULL};
    static const char *const STALLS[] = {".ring_full", ".socket_full", ".credit_stalls", NULL};
    printf("%7d  %-15.15s %6.0f %11.0f %9.1f %9.1f %9.1f %9.0f %8.1f\n", page->pid, page->command,
           add_up(page, TOTAL, CONNECTED) - add_up(page, TOTAL, LOST), add_up(page, RATE, MESSAGES),
           add_up(page, RATE, OUT) * 1e-6, add_up(page, RATE, IN) * 1e-6, add_up(page, RATE, MAPPED) * 1e-6,
           add_up(page, RATE, STALLS), add_up(page, TOTAL, MEMORY) / 1048576);
}

static void show_table(const top_t *top, bool clear)
{
    if (clear)
        printf("\033[H\033[2J");
    printf("%7s  %-15s %6s %11s %9s %9s %9s %9s %8s\n", "PID", "COMMAND", "PEERS", "MESSAGES/s", "OUT MB/s", "IN MB/s",
           "MAPPED", "STALLS/s", "MEM MiB");
    for (size_t i = 0; i < top->count; i++)
        show_line(top->pages[i]);
    if (top->count == 0)
        printf("no process that uses the core was found%s\n",
               top->denied > 0 ? " among those of this user; root sees the others" : "");
}

static void show_json(const top_t *top)
{
    printf("{\"processes\": [");
    for (size_t i = 0; i < top->count; i++) {
        const page_t *page = top->pages[i];
        printf("%s\n  {\"pid\": %d, \"command\": \"%s\", \"seconds\": %.6f, \"counters\": {", i > 0 ? "," : "", page->pid,
               page->command, page->seconds);
        bool first = true;
        for (uint32_t id = 0; id < page->view.header.counters && id < COUNTERS_SHOWN; id++) {
            const char *name = stats_view_name(&page->view, id);
            if (name == NULL || strpbrk(name, "\"\\") != NULL)
                continue;
            printf("%s\"%s\": [%llu, %llu]", first ? "" : ", ", name, (unsigned long long)page->now[id],
                   (unsigned long long)(page->now[id] - page->before[id]));
            first = false;
        }
        printf("}}");
    }
    printf("\n]}\n");
}

/* ----------------------------------------------------------------------------------------------- main */

static void wait_for(double seconds)
{
    struct timespec time = {.tv_sec = (time_t)seconds, .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};
    (void)nanosleep(&time, NULL); /* a signal ends it early, and the loop */
}

static void usage(FILE *out)
{
    fprintf(out, "usage: vbn_top [--interval SECONDS] [--count N] [--pid PID] [--json]\n"
                 "Shows the processes of this host that use the core: peers, messages, bytes sent and received in packets,\n"
                 "bytes copied from or to mapped memory of peers (MAPPED), sends that had to wait (STALLS), memory.\n"
                 "Rates are those of the last interval (default 1 s), in the first view since the process began.\n"
                 "--count N ends after N views; --json prints every counter as [total, change in the interval].\n");
}

static double number(const char *text, const char *option, double least, double most)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end != '\0' || !(value >= least && value <= most)) {
        fprintf(stderr, "vbn_top: %s takes a number from %g to %g, not \"%s\"\n", option, least, most, text);
        exit(2);
    }
    return value;
}

static void run(top_t *top, double interval, long views)
{
    bool clear = isatty(STDOUT_FILENO) == 1 && !top->json;
    for (long view = 0; !stop && (views == 0 || view < views); view++) {
        if (view > 0)
            wait_for(interval);
        scan(top);
        sample(top);
        if (top->json)
            show_json(top);
        else
            show_table(top, clear);
        (void)fflush(stdout);
    }
}

int main(int argc, char **argv)
{
    static const struct option OPTIONS[] = {{"interval", required_argument, NULL, 'i'}, {"count", required_argument, NULL, 'n'},
                                            {"pid", required_argument, NULL, 'p'}, {"json", no_argument, NULL, 'j'},
                                            {"help", no_argument, NULL, 'h'}, {0}};
    static top_t top;
    double interval = 1;
    long views = 0;
    int option;
    while ((option = getopt_long(argc, argv, "i:n:p:jh", OPTIONS, NULL)) != -1) {
        switch (option) {
        case 'i': interval = number(optarg, "--interval", 0.01, 3600); break;
        case 'n': views = (long)number(optarg, "--count", 1, 1e9); break;
        case 'p': top.only_pid = (int)number(optarg, "--pid", 1, 4194304); break;
        case 'j': top.json = true; break;
        default: usage(option == 'h' ? stdout : stderr); return option == 'h' ? 0 : 2;
        }
    }
    struct sigaction action = {.sa_handler = on_signal};
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
    run(&top, interval, views);
    for (size_t i = 0; i < top.count; i++)
        top.pages[i]->alive = false;
    forget_dead(&top);
    return 0;
}
