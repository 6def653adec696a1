/* SPDX-License-Identifier: Apache-2.0
 * pages.c - finds the statistics pages of running processes and looks at them.
 *
 * A page is found through /proc/<pid>/fd (stats_format.h), so one sees the processes of one's own user, root sees all.
 * Rates are differences of two looks at the same page, divided by the time between them.
 *
 * A look takes one system call for each page that is known, and five for each process whose descriptors have the numbers that
 * they had. All links of descriptors are read when numbers have changed, when a page has gone (a child may have inherited it),
 * and at every tenth look: a process may have closed one and opened a page by the same number. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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

#define LOOKS_ALL 10u /* looks after which all links are read again */

static page_t *find_page(const top_t *top, const struct stat *file)
{
    for (size_t i = 0; i < top->count; i++)
        if (top->pages[i]->view.inode == (uint64_t)file->st_ino && top->pages[i]->view.device == (uint64_t)file->st_dev)
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

static void leave_out(top_t *top, int pid)
{
    left_out_t *one = &top->left_out[top->left_out_count];
    for (unsigned i = 0; i < top->left_out_count; i++)
        if (top->left_out[i].pid == pid)
            return;
    if (top->left_out_count == LEFT_OUT_MAX)
        return;
    one->pid = pid;
    read_command(pid, one->command, sizeof(one->command));
    top->left_out_count++;
}

/* A page that is known already, or inherited over fork, is kept with its first process. */
static void add_page(top_t *top, int pid, const char *path)
{
    stats_view_t view;
    struct stat file;
    page_t *known = stat(path, &file) == 0 ? find_page(top, &file) : NULL;
    if (known != NULL) {
        known->alive = true;
        return;
    }
    vbn_status_t status = stats_view_open(path, &view);
    if (status == VBN_ERR_STALE)
        leave_out(top, pid);
    if (status != VBN_OK)
        return;
    page_t *page = top->count < PAGES_MAX ? new_page(&view) : NULL;
    if (page == NULL) {
        top->beyond++;
        stats_view_close(&view);
        return;
    }
    page->pid = pid;
    page->alive = true;
    snprintf(page->path, sizeof(page->path), "%s", path);
    read_command(pid, page->command, sizeof(page->command));
    top->pages[top->count++] = page;
}

/* Known pages need no look at their process's descriptors. */
static void find_alive(top_t *top)
{
    for (size_t i = 0; i < top->count; i++) {
        page_t *page = top->pages[i];
        struct stat file;
        page->alive = stat(page->path, &file) == 0 && (uint64_t)file.st_ino == page->view.inode &&
                      (uint64_t)file.st_dev == page->view.device;
        top->all = top->all || !page->alive;
    }
}

static void read_links(top_t *top, int pid, const char *folder, DIR *dir)
{
    char path[PATH_BYTES], target[64];
    rewinddir(dir);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
        ssize_t length = readlink(path, target, sizeof(target) - 1);
        target[length > 0 ? length : 0] = '\0';
        if (strncmp(target, "/memfd:" STATS_MEMFD_NAME " ", sizeof("/memfd:" STATS_MEMFD_NAME)) == 0)
            add_page(top, pid, path);
    }
}

/* Of the numbers of all descriptors. */
static uint64_t hash_numbers(DIR *dir)
{
    uint64_t hash = 1;
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;)
        hash = (hash + (uint64_t)atoi(entry->d_name)) * UINT64_C(0x9e3779b97f4a7c15);
    return hash;
}

/* What was seen of the process at the last look; both lists are in the order of process ids. 0: nothing. */
static uint64_t seen_before(top_t *top, int pid)
{
    while (top->before_at < top->before.count && top->before.one[top->before_at].pid < pid)
        top->before_at++;
    bool found = top->before_at < top->before.count && top->before.one[top->before_at].pid == pid;
    return found ? top->before.one[top->before_at].numbers : 0;
}

/* Without memory the process is looked at anew each time. */
static void remember(seen_list_t *list, int pid, uint64_t numbers)
{
    if (list->count == list->capacity) {
        size_t capacity = list->capacity * 2 + 64;
        seen_t *more = realloc(list->one, capacity * sizeof(*more));
        if (more == NULL)
            return;
        list->one = more;
        list->capacity = capacity;
    }
    list->one[list->count++] = (seen_t){pid, numbers};
}

static void scan_process(top_t *top, int pid)
{
    char folder[64];
    snprintf(folder, sizeof(folder), "/proc/%d/fd", pid);
    DIR *dir = opendir(folder);
    if (dir == NULL) {
        if (errno == EACCES || errno == EPERM)
            top->denied++;
        else if (errno != ENOENT && errno != ESRCH) /* those have ended */
            top->failed = errno;
        return;
    }
    uint64_t numbers = hash_numbers(dir);
    if (top->all || numbers != seen_before(top, pid))
        read_links(top, pid, folder, dir);
    remember(&top->now, pid, numbers);
    (void)closedir(dir);
}

static void scan_all(top_t *top)
{
    DIR *proc = opendir("/proc");
    if (proc == NULL) {
        top->failed = errno;
        return;
    }
    for (struct dirent *entry; (entry = readdir(proc)) != NULL;) {
        int pid = atoi(entry->d_name);
        if (pid > 0)
            scan_process(top, pid);
    }
    (void)closedir(proc);
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
    seen_list_t before = top->before;
    top->before = top->now;
    top->now = before;
    top->now.count = top->before_at = 0;
    top->all = top->looks++ % LOOKS_ALL == 0;
    top->denied = 0;
    top->failed = 0;
    find_alive(top);
    if (top->all)
        top->left_out_count = top->beyond = 0;
    if (top->only_pid != 0)
        scan_process(top, top->only_pid);
    else
        scan_all(top);
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
    free(top->before.one);
    free(top->now.one);
}
