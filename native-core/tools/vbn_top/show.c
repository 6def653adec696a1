/* SPDX-License-Identifier: Apache-2.0
 * show.c - prints what the pages say: a table, with --traffic the operations of each process, or JSON. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "top.h"

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

/* What the index of a cell means, and how its values changed. */
typedef struct row {
    const char *way;
    const char *class_name;
    uint64_t up_to; /* bytes; UINT64_MAX: no end */
    stats_cell_t total;
    stats_cell_t change;
} row_t;

static row_t row_at(const page_t *page, size_t index)
{
    const stats_header_t *h = &page->view.header;
    uint32_t bucket = (uint32_t)(index % h->buckets);
    uint32_t class_index = (uint32_t)(index / h->buckets % h->classes);
    uint32_t way = (uint32_t)(index / h->buckets / h->classes);
    const stats_cell_t *now = &page->cells[index], *before = &page->cells_before[index];
    const char *way_name = stats_view_way(&page->view, way);
    const char *class_name = stats_view_class(&page->view, class_index);
    return (row_t){.way = way_name != NULL ? way_name : "?",
                   .class_name = class_name != NULL ? class_name : "?",
                   .up_to = stats_view_bucket_bytes(&page->view, bucket),
                   .total = *now,
                   .change = {now->operations - before->operations, now->bytes - before->bytes,
                              now->timed - before->timed, now->ns - before->ns}};
}

static double operations_per_second(const page_t *page, bool messages)
{
    double sum = 0;
    for (size_t i = 0; i < page->cell_count; i++) {
        row_t row = row_at(page, i);
        if ((strcmp(row.class_name, "am") == 0 || strcmp(row.class_name, "tag") == 0) == messages)
            sum += (double)row.change.operations;
    }
    return sum / page->seconds;
}

static void show_line(const page_t *page)
{
    static const char *const CONNECTED[] = {"peers.connected", NULL}, *const LOST[] = {"peers.lost", NULL};
    static const char *const OUT[] = {".tx.bytes", NULL}, *const IN[] = {".rx.bytes", NULL};
    static const char *const MAPPED[] = {"get.mapped.bytes", "put.mapped.bytes", NULL};
    static const char *const STALLS[] = {".ring_full", ".socket_full", ".credit_stalls", NULL};
    static const char *const RETRIES[] = {"link.retransmits", "link.resumes", NULL};
    static const char *const MEMORY[] = {"mem.bytes", "mem.registered.bytes", "mem.pool.bytes", NULL};
    printf("%7d  %-15.15s %6.0f %11.0f %11.0f %9.1f %9.1f %9.1f %9.0f %9.0f %8.1f\n", page->pid, page->command,
           add_up(page, TOTAL, CONNECTED) - add_up(page, TOTAL, LOST), operations_per_second(page, true),
           operations_per_second(page, false), add_up(page, RATE, OUT) * 1e-6, add_up(page, RATE, IN) * 1e-6,
           add_up(page, RATE, MAPPED) * 1e-6, add_up(page, RATE, STALLS), add_up(page, RATE, RETRIES),
           add_up(page, TOTAL, MEMORY) / 1048576);
}

/* A size as people say it: all bucket ends are powers of two. */
static void say_size(uint64_t bytes, char *text, size_t capacity)
{
    static const char UNITS[] = "BKMGTPE";
    unsigned unit = 0;
    if (bytes == UINT64_MAX) {
        snprintf(text, capacity, "larger");
        return;
    }
    for (; bytes >= 1024 && bytes % 1024 == 0; bytes /= 1024)
        unit++;
    snprintf(text, capacity, "<=%llu%c", (unsigned long long)bytes, UNITS[unit]);
}

static void show_traffic(const page_t *page)
{
    for (size_t i = 0; i < page->cell_count; i++) {
        row_t row = row_at(page, i);
        char size[32], time[32] = "-";
        if (row.change.operations == 0)
            continue;
        say_size(row.up_to, size, sizeof(size));
        if (row.change.timed > 0)
            snprintf(time, sizeof(time), "%.0f", (double)row.change.ns / (double)row.change.timed);
        printf("%7s  %-6s %-8s %-8s %11.0f %9.1f %11s\n", "", row.way, row.class_name, size,
               (double)row.change.operations / page->seconds, (double)row.change.bytes / page->seconds * 1e-6, time);
    }
}

/* What is not shown, and why. */
static void show_remarks(const top_t *top)
{
    if (top->count == 0) {
        printf("no process that uses the core was found");
        if (top->denied > 0 && geteuid() != 0)
            printf(" among those of this user; root sees the others");
        else if (top->denied > 0)
            printf("; %u cannot be looked at: that takes CAP_SYS_PTRACE here", top->denied);
        printf("\n");
    }
    if (top->failed != 0)
        printf("not all processes could be looked at: %s\n", strerror(top->failed));
    if (top->beyond > 0)
        printf("%u more are not shown: there is room for %d\n", top->beyond, PAGES_MAX);
    for (unsigned i = 0; i < top->left_out_count; i++)
        printf("%7d  %-15.15s left out: its page is not sealed against shrinking, so reading it could end vbn-top\n",
               top->left_out[i].pid, top->left_out[i].command);
}

void show_table(const top_t *top, bool clear)
{
    if (clear)
        printf("\033[H\033[2J");
    printf("%7s  %-15s %6s %11s %11s %9s %9s %9s %9s %9s %8s\n", "PID", "COMMAND", "PEERS", "MESSAGES/s", "ONE-SIDED/s",
           "OUT MB/s", "IN MB/s", "MAPPED", "STALLS/s", "RETRIES/s", "MEM MiB");
    if (top->traffic)
        printf("%7s  %-6s %-8s %-8s %11s %9s %11s\n", "", "over", "class", "size", "per s", "MB/s", "ns each");
    for (size_t i = 0; i < top->count; i++) {
        show_line(top->pages[i]);
        if (top->traffic)
            show_traffic(top->pages[i]);
    }
    show_remarks(top);
}

/* Names are the other process's: what would break the JSON is left out. */
static bool plain(const char *name)
{
    return name != NULL && strpbrk(name, "\"\\\n") == NULL;
}

static void json_counters(const page_t *page)
{
    bool first = true;
    for (uint32_t id = 0; id < page->view.header.counters && id < COUNTERS_SHOWN; id++) {
        const char *name = stats_view_name(&page->view, id);
        if (!plain(name))
            continue;
        printf("%s\"%s\": [%llu, %llu]", first ? "" : ", ", name, (unsigned long long)page->now[id],
               (unsigned long long)(page->now[id] - page->before[id]));
        first = false;
    }
}

static void json_pair(const char *name, uint64_t total, uint64_t change)
{
    printf(", \"%s\": [%llu, %llu]", name, (unsigned long long)total, (unsigned long long)change);
}

static void json_traffic(const page_t *page)
{
    bool first = true;
    for (size_t i = 0; i < page->cell_count; i++) {
        row_t row = row_at(page, i);
        if (row.total.operations == 0 || !plain(row.way) || !plain(row.class_name))
            continue;
        printf("%s\n    {\"way\": \"%s\", \"class\": \"%s\", \"up_to\": ", first ? "" : ",", row.way, row.class_name);
        if (row.up_to == UINT64_MAX)
            printf("null");
        else
            printf("%llu", (unsigned long long)row.up_to);
        json_pair("operations", row.total.operations, row.change.operations);
        json_pair("bytes", row.total.bytes, row.change.bytes);
        json_pair("timed", row.total.timed, row.change.timed);
        json_pair("ns", row.total.ns, row.change.ns);
        printf("}");
        first = false;
    }
}

void show_json(const top_t *top)
{
    printf("{\"processes\": [");
    for (size_t i = 0; i < top->count; i++) {
        const page_t *page = top->pages[i];
        printf("%s\n  {\"pid\": %d, \"command\": \"%s\", ", i > 0 ? "," : "", page->pid, page->command);
        printf("\"seconds\": %.6f, \"counters\": {", page->seconds);
        json_counters(page);
        printf("}, \"traffic\": [");
        json_traffic(page);
        printf("]}");
    }
    printf("\n], \"left_out\": [");
    for (unsigned i = 0; i < top->left_out_count; i++)
        printf("%s%d", i > 0 ? ", " : "", top->left_out[i].pid);
    printf("]}\n");
}
