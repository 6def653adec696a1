/* SPDX-License-Identifier: Apache-2.0
 * hosts.c - the hosts that the command line names, and which ranks they get.
 *
 * Ranks fill the hosts of a list in order: each takes its slots in its turn (-ppn, or the number beside its name), and the
 * list begins again when all are full. Without numbers each host gets the same number of consecutive ranks.
 */
#include "launch/launch.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST_SLOTS 65536

static char problem[512];

static const char *no_memory(void)
{
    return "no memory left";
}

int launch_host(launch_job_t *job, const char *name)
{
    for (int i = 0; i < job->host_count; i++)
        if (strcmp(job->hosts[i].name, name) == 0)
            return i;
    launch_host_t *hosts = realloc(job->hosts, sizeof(*hosts) * (size_t)(job->host_count + 1));
    if (hosts == NULL)
        return -1;
    job->hosts = hosts;
    hosts[job->host_count] = (launch_host_t){.name = strdup(name), .channel = {.in = -1, .out = -1}};
    return hosts[job->host_count].name == NULL ? -1 : job->host_count++;
}

static const char *add(launch_job_t *job, launch_list_t *list, const char *name, int slots)
{
    const int host = launch_host(job, name);
    int *more = host < 0 ? NULL : realloc(list->hosts, sizeof(int) * (size_t)(list->count + 1));
    if (more == NULL)
        return no_memory();
    list->hosts = more;
    if ((more = realloc(list->slots, sizeof(int) * (size_t)(list->count + 1))) == NULL)
        return no_memory();
    list->slots = more;
    list->hosts[list->count] = host;
    list->slots[list->count++] = slots;
    return NULL;
}

/* A name that begins with '-' would be an option of ssh. */
static const char *add_entry(launch_job_t *job, launch_list_t *list, char *name, const char *slots)
{
    char *end = NULL;
    const long number = slots == NULL ? 0 : strtol(slots, &end, 10);
    if (*name == 0 || *name == '-') {
        snprintf(problem, sizeof(problem), "'%.200s' is not the name of a host", name);
        return problem;
    }
    if (slots != NULL && (end == slots || *end != 0 || number < 1 || number > MOST_SLOTS)) {
        snprintf(problem, sizeof(problem), "host %.200s: '%.100s' is not a number of ranks from 1 to %d", name, slots,
                 MOST_SLOTS);
        return problem;
    }
    return add(job, list, name, (int)number);
}

/* The number behind the last colon, unless the name is an address of IPv6. */
static char *take_slots(char *name)
{
    char *colon = strrchr(name, ':');
    if (colon == NULL || strchr(name, ':') != colon)
        return NULL;
    *colon = 0;
    return colon + 1;
}

const char *launch_list_names(launch_job_t *job, launch_list_t *list, const char *names)
{
    char *copy = strdup(names);
    char *rest = NULL;
    const char *wrong = copy == NULL ? no_memory() : NULL;
    for (char *name = copy == NULL ? NULL : strtok_r(copy, ",", &rest); name != NULL && wrong == NULL;
         name = strtok_r(NULL, ",", &rest)) {
        const char *slots = take_slots(name);
        wrong = add_entry(job, list, name, slots);
    }
    free(copy);
    return wrong != NULL ? wrong : list->count == 0 ? "no host is named" : NULL;
}

const char *launch_list_file(launch_job_t *job, launch_list_t *list, const char *path)
{
    char line[1024];
    const char *wrong = NULL;
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        snprintf(problem, sizeof(problem), "host file %.300s: %s", path, strerror(errno));
        return problem;
    }
    while (wrong == NULL && fgets(line, sizeof(line), file) != NULL) {
        char *rest = NULL;
        line[strcspn(line, "#\n")] = 0;
        char *name = strtok_r(line, " \t\r", &rest);
        if (name == NULL)
            continue;
        const char *slots = take_slots(name);
        for (char *word = strtok_r(NULL, " \t\r", &rest); word != NULL; word = strtok_r(NULL, " \t\r", &rest))
            if (strncmp(word, "slots=", 6) == 0)
                slots = word + 6;
        wrong = add_entry(job, list, name, slots);
    }
    fclose(file);
    if (wrong == NULL && list->count == 0) {
        snprintf(problem, sizeof(problem), "host file %.300s names no host", path);
        wrong = problem;
    }
    return wrong;
}

/* As far as the name says. */
static int is_this_host(const char *name)
{
    char own[HOST_NAME_MAX + 1] = "";
    (void)gethostname(own, sizeof(own) - 1);
    const size_t length = strcspn(own, ".");
    return strcmp(name, "localhost") == 0 || strncmp(name, "127.", 4) == 0 || strcmp(name, "::1") == 0 ||
           strcmp(name, own) == 0 || (strncmp(name, own, length) == 0 && name[length] == 0);
}

/* The list that a job without one has: this host, or its fakes. */
static const char *list_here(launch_job_t *job)
{
    char own[HOST_NAME_MAX + 1] = "localhost";
    char name[HOST_NAME_MAX + 16];
    const char *wrong = NULL;
    (void)gethostname(own, sizeof(own) - 1);
    if (job->fakes == 0)
        return add(job, &job->list, own, 0);
    job->way = LAUNCH_FORK;
    for (int i = 0; i < job->fakes && wrong == NULL; i++) {
        snprintf(name, sizeof(name), "%s#%d", own, i);
        wrong = add(job, &job->list, name, 0);
    }
    return wrong;
}

static int is_alone(const launch_job_t *job)
{
    return job->host_count == 1 && job->way != LAUNCH_SSH;
}

static void choose_ways(launch_job_t *job)
{
    for (int i = 0; i < job->host_count; i++) {
        launch_host_t *host = &job->hosts[i];
        host->fake = job->way == LAUNCH_FORK && !is_alone(job);
        host->remote = job->way == LAUNCH_SSH || (job->way == LAUNCH_CHOOSE && !is_this_host(host->name));
    }
}

typedef struct place {
    const launch_list_t *list;
    int turn;
    int used;
    int ranks; /* that share the list */
} place_t;

static int next_host(const launch_job_t *job, place_t *place)
{
    const launch_list_t *list = place->list;
    const int even = (place->ranks + list->count - 1) / list->count;
    const int slots = list->slots[place->turn] > 0 ? list->slots[place->turn]
                      : job->per_host > 0          ? job->per_host
                                                   : even;
    const int host = list->hosts[place->turn];
    if (++place->used >= slots) {
        place->used = 0;
        place->turn = (place->turn + 1) % list->count;
    }
    return host;
}

static void place_ranks(launch_job_t *job)
{
    place_t shared = {.list = &job->list};
    int rank = 0;
    for (int i = 0; i < job->part_count; i++)
        shared.ranks += job->parts[i].hosts.count == 0 ? job->parts[i].ranks : 0;
    for (int i = 0; i < job->part_count; i++) {
        const launch_part_t *part = &job->parts[i];
        place_t own = {.list = &part->hosts, .ranks = part->ranks};
        for (int j = 0; j < part->ranks; j++, rank++) {
            launch_rank_t *one = &job->ranks[rank];
            one->number = rank;
            one->part = i;
            one->host = next_host(job, part->hosts.count > 0 ? &own : &shared);
            one->input = one->pmi = one->streams[0].fd = one->streams[1].fd = -1;
            for (int k = 0; k < 2; k++)
                one->streams[k].target = k + 1;
            job->hosts[one->host].ranks++;
            job->local += !job->hosts[one->host].remote;
        }
    }
}

/* "(vector,(first_host,hosts,ranks_of_each),...)": runs of ranks on one host; as many of equal length on hosts with
 * consecutive numbers are one block. */
static const char *make_mapping(launch_job_t *job)
{
    size_t length = 0;
    FILE *text = open_memstream(&job->mapping, &length);
    if (text == NULL)
        return no_memory();
    fputs("(vector", text);
    for (int rank = 0, first = 0, blocks = 0, each = 0; rank <= job->size;) {
        int run = 0;
        const int host = rank < job->size ? job->ranks[rank].host : -1;
        while (rank + run < job->size && job->ranks[rank + run].host == host)
            run++;
        if (blocks > 0 && host == first + blocks && run == each) {
            blocks++;
        } else {
            if (blocks > 0)
                fprintf(text, ",(%d,%d,%d)", first, blocks, each);
            first = host, blocks = 1, each = run;
        }
        rank += run > 0 ? run : 1;
    }
    fputc(')', text);
    if (fclose(text) != 0)
        return no_memory();
    return length < LAUNCH_LINE / 2
               ? NULL
               : "ranks alternate between hosts too irregularly to tell them: use -ppn, or hosts in "
                 "blocks";
}

const char *launch_place(launch_job_t *job)
{
    int without = 0; /* parts */
    for (int i = 0; i < job->part_count; i++)
        without += job->parts[i].hosts.count == 0;
    const char *wrong = job->list.count == 0 && without > 0 ? list_here(job) : NULL;
    if (wrong != NULL)
        return wrong;
    job->ranks = calloc((size_t)job->size, sizeof(*job->ranks));
    if (job->ranks == NULL)
        return no_memory();
    choose_ways(job);
    place_ranks(job);
    return make_mapping(job);
}
