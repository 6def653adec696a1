/* SPDX-License-Identifier: Apache-2.0
 * pmi_server.c - the launcher's side of PMI-1: one answer line for each request; the barrier answers all ranks at
 * once. A rank that says something else ends the job.
 */
#include "launch/launch.h"
#include "pmi/pmi1_line.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define KEY_MAX 64
#define VALUE_MAX 1024

/* The socket holds far more than the answers to the few requests that a rank has open, so a full one is an error. */
__attribute__((format(printf, 3, 4))) static void answer(launch_job_t *job, launch_rank_t *one, const char *format, ...)
{
    char line[LAUNCH_LINE];
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    launch_host_t *host = &job->hosts[one->host];
    if (host->remote) { /* the end of the channel is seen by who reads it */
        (void)channel_send(&host->channel, FRAME_PMI, (uint32_t)one->number, line, (size_t)length);
        return;
    }
    if (one->pmi < 0 || send(one->pmi, line, (size_t)length, MSG_NOSIGNAL) == length || errno == EPIPE ||
        errno == ECONNRESET) /* a rank that has ended is seen by its status */
        return;
    launch_say("rank %d does not read its answers", one->number);
    launch_end(job, 1);
}

/* Where the key is, or would be; the space is sorted. */
static size_t place_of(const launch_job_t *job, const char *key, int *found)
{
    size_t low = 0;
    size_t high = job->pair_count;
    *found = 0;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const int order = strcmp(job->pairs[middle].key, key);
        if (order == 0) {
            *found = 1;
            return middle;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int put(launch_job_t *job, const char *key, const char *value)
{
    int found;
    const size_t at = place_of(job, key, &found);
    if (found)
        return -1; /* a key is put once */
    if (job->pair_count == job->pair_room) {
        const size_t room = job->pair_room == 0 ? 64 : 2 * job->pair_room;
        launch_pair_t *pairs = realloc(job->pairs, room * sizeof(*pairs));
        if (pairs == NULL)
            return -1;
        job->pairs = pairs;
        job->pair_room = room;
    }
    const launch_pair_t pair = {.key = strdup(key), .value = strdup(value)};
    if (pair.key == NULL || pair.value == NULL)
        return -1;
    memmove(&job->pairs[at + 1], &job->pairs[at], (job->pair_count - at) * sizeof(pair));
    job->pairs[at] = pair;
    job->pair_count++;
    return 0;
}

static void on_put(launch_job_t *job, launch_rank_t *one, const char *line)
{
    char key[KEY_MAX];
    char value[VALUE_MAX];
    const int rc = pmi1_field(line, "key", key, sizeof(key)) != 0 ||
                           pmi1_field(line, "value", value, sizeof(value)) != 0
                       ? -1
                       : put(job, key, value);
    answer(job, one, "cmd=put_result rc=%d msg=%s\n", rc, rc == 0 ? "success" : "key_or_value_too_long_or_put_twice");
}

/* A key that nobody puts: a rank that waits for another one's address learns that none will come. */
static int is_ended(const launch_job_t *job, const char *key)
{
    int rank;
    return sscanf(key, "vbn-ended%d", &rank) == 1 && rank >= 0 && rank < job->size && job->ranks[rank].ended;
}

static void on_get(launch_job_t *job, launch_rank_t *one, const char *line)
{
    char key[KEY_MAX];
    int found = 0;
    if (pmi1_field(line, "key", key, sizeof(key)) != 0) {
        answer(job, one, "cmd=get_result rc=-1 msg=no_key\n");
        return;
    }
    if (strcmp(key, "PMI_process_mapping") == 0) {
        answer(job, one, "cmd=get_result rc=0 msg=success value=%s\n", job->mapping);
        return;
    }
    const size_t at = place_of(job, key, &found);
    if (found)
        answer(job, one, "cmd=get_result rc=0 msg=success value=%s\n", job->pairs[at].value);
    else if (is_ended(job, key))
        answer(job, one, "cmd=get_result rc=0 msg=success value=1\n");
    else
        answer(job, one, "cmd=get_result rc=-1 msg=key_%s_not_found value=unknown\n", key);
}

/* Who has left is not waited for: in the last barrier, of MPI_Finalize, it has nothing to say. */
static void end_barrier(launch_job_t *job)
{
    if (job->waiting == 0 || job->waiting + job->left < job->size)
        return;
    job->waiting = 0;
    for (int i = 0; i < job->size; i++) {
        if (job->ranks[i].in_barrier)
            answer(job, &job->ranks[i], "cmd=barrier_out\n");
        job->ranks[i].in_barrier = 0;
    }
}

void launch_pmi_left(launch_job_t *job, launch_rank_t *one)
{
    job->waiting -= one->in_barrier;
    one->in_barrier = 0;
    end_barrier(job);
}

static void on_barrier(launch_job_t *job, launch_rank_t *one)
{
    if (one->in_barrier)
        return;
    one->in_barrier = 1;
    job->waiting++;
    end_barrier(job);
}

static void on_abort(launch_job_t *job, const char *line)
{
    char code[16] = "1";
    (void)pmi1_field(line, "exitcode", code, sizeof(code));
    if (atoi(code) == LAUNCH_ALL_WELL)
        launch_end(job, 0);
    else
        launch_fail(job, atoi(code) & 255 ? atoi(code) & 255 : 1, -1);
}

void launch_pmi_line(launch_job_t *job, launch_rank_t *one, const char *line)
{
    char command[64] = "";
    (void)pmi1_field(line, "cmd", command, sizeof(command));
    if (strcmp(command, "init") == 0) {
        one->initialized = 1;
        one->finalized = 0;
        answer(job, one, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n");
    } else if (strcmp(command, "get_maxes") == 0)
        answer(job, one, "cmd=maxes kvsname_max=256 keylen_max=%d vallen_max=%d\n", KEY_MAX, VALUE_MAX);
    else if (strcmp(command, "get_appnum") == 0)
        answer(job, one, "cmd=appnum appnum=%d\n", one->part);
    else if (strcmp(command, "get_universe_size") == 0)
        answer(job, one, "cmd=universe_size size=%d\n", job->size);
    else if (strcmp(command, "get_my_kvsname") == 0)
        answer(job, one, "cmd=my_kvsname kvsname=verbena-%d\n", (int)getpid());
    else if (strcmp(command, "put") == 0)
        on_put(job, one, line);
    else if (strcmp(command, "get") == 0)
        on_get(job, one, line);
    else if (strcmp(command, "barrier_in") == 0)
        on_barrier(job, one);
    else if (strcmp(command, "abort") == 0)
        on_abort(job, line);
    else if (strcmp(command, "finalize") == 0) {
        one->initialized = 0;
        one->finalized = 1;
        answer(job, one, "cmd=finalize_ack rc=0\n");
    } else {
        launch_say("rank %d asks by PMI for '%s', which PMI-1 of Verbena does not have", one->number, command);
        launch_end(job, 1);
    }
}

static void close_socket(launch_rank_t *one)
{
    close(one->pmi);
    one->pmi = -1;
}

void launch_pmi_read(launch_job_t *job, launch_rank_t *one, launch_line_t on_line)
{
    const ssize_t n = recv(one->pmi, one->line + one->line_length, sizeof(one->line) - one->line_length, 0);
    if (n <= 0) {
        if (n == 0 || (errno != EAGAIN && errno != EINTR))
            close_socket(one);
        return;
    }
    one->line_length += (size_t)n;
    char *end;
    while ((end = memchr(one->line, '\n', one->line_length)) != NULL) {
        *end = 0;
        on_line(job, one, one->line);
        one->line_length -= (size_t)(end + 1 - one->line);
        memmove(one->line, end + 1, one->line_length);
    }
    if (one->line_length == sizeof(one->line)) {
        launch_say("rank %d sends a line of PMI longer than %d bytes", one->number, LAUNCH_LINE);
        launch_end(job, 1);
        close_socket(one);
    }
}

void launch_pmi_free(launch_job_t *job)
{
    for (size_t i = 0; i < job->pair_count; i++) {
        free(job->pairs[i].key);
        free(job->pairs[i].value);
    }
    free(job->pairs);
}
