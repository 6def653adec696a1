/* SPDX-License-Identifier: Apache-2.0
 * pages.c - finds the statistics pages of running processes and looks at them.
 *
 * A page is found through /proc/<pid>/fd (stats_format.h), so one sees the processes of one's own user, root sees all.
 * Rates are differences of two looks at the same page, divided by the time between them. */
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/os.h"
#include "top.h"

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

static void free_page(page_t *page)
{
    free(page->cells);
    free(page->cells_before);
    free(page);
}

/* NULL when there is no memory. The view is the page's afterwards. */
static page_t *new_page(const stats_view_t *view)
{
    const stats_header_t *h = &view->header;
    page_t *page = calloc(1, sizeof(*page));
    if (page == NULL)
        return NULL;
    page->cell_count = (size_t)h->ways * h->classes * h->buckets;
    page->cells = calloc(page->cell_count + 1, sizeof(*page->cells));
    page->cells_before = calloc(page->cell_count + 1, sizeof(*page->cells));
    if (page->cells == NULL || page->cells_before == NULL) {
        free_page(page);
        return NULL;
    }
    page->view = *view;
    page->seen_ns = h->opened_ns;
    return page;
}

/* A page that is known already, or inherited over fork, is kept with its first process. */
static void add_page(top_t *top, int pid, const char *path)
{
    stats_view_t view;
    if (stats_view_open(path, &view) != VBN_OK)
        return;
    page_t *known = find_page(top, view.inode);
    page_t *page = known == NULL && top->count < PAGES_MAX ? new_page(&view) : NULL;
    if (page == NULL) {
        if (known != NULL)
            known->alive = true;
        stats_view_close(&view);
        return;
    }
    page->pid = pid;
    page->alive = true;
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
        free_page(page);
    }
    top->count = kept;
}

void top_scan(top_t *top)
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

/* Cells in the order of the page. */
static void sample_traffic(page_t *page)
{
    const stats_header_t *h = &page->view.header;
    stats_cell_t *cell = page->cells;
    memcpy(page->cells_before, page->cells, page->cell_count * sizeof(*page->cells));
    for (uint32_t way = 0; way < h->ways; way++)
        for (uint32_t class_index = 0; class_index < h->classes; class_index++)
            for (uint32_t bucket = 0; bucket < h->buckets; bucket++)
                *cell++ = stats_view_cell(&page->view, way, class_index, bucket);
}

void top_sample(top_t *top)
{
    for (size_t i = 0; i < top->count; i++) {
        page_t *page = top->pages[i];
        uint64_t now_ns = os_now_ns();
        memcpy(page->before, page->now, sizeof(page->before));
        for (uint32_t id = 0; id < page->view.header.counters && id < COUNTERS_SHOWN; id++)
            page->now[id] = stats_view_sum(&page->view, id);
        sample_traffic(page);
        page->seconds = now_ns > page->seen_ns ? (double)(now_ns - page->seen_ns) * 1e-9 : 1e-9;
        page->seen_ns = now_ns;
    }
}

void top_close(top_t *top)
{
    for (size_t i = 0; i < top->count; i++)
        top->pages[i]->alive = false;
    forget_dead(top);
}
