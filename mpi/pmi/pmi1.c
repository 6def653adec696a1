/* SPDX-License-Identifier: Apache-2.0
 * pmi1.c - PMI-1: lines "cmd=NAME key=value ...\n" on an inherited socket, one answer line for each request.
 */
#include "pmi/pmi.h"
#include "pmi/pmi1_line.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int fail(pmi_t *pmi, const char *what, const char *cause)
{
    snprintf(pmi->error, sizeof(pmi->error), "launcher, %s: %s; is mpiexec still running?", what, cause);
    return -1;
}

__attribute__((format(printf, 2, 3))) static int ask(pmi_t *pmi, const char *format, ...)
{
    char line[4096];
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    if (length < 0 || (size_t)length >= sizeof(line))
        return fail(pmi, "request", "line too long");
    for (int sent = 0; sent < length;) {
        const ssize_t n = send(pmi->fd, line + sent, (size_t)(length - sent), MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fail(pmi, "request", strerror(errno));
        sent += (int)n;
    }
    return 0;
}

/* Takes one answer line; wait: sleeps for it. 1: answer holds it, 0: none so far, -1: failed. */
static int take(pmi_t *pmi, char *answer, size_t capacity, int wait)
{
    for (;;) {
        char *end = memchr(pmi->line, '\n', pmi->line_length);
        if (end != NULL) {
            const size_t length = (size_t)(end - pmi->line);
            if (length >= capacity)
                return fail(pmi, "answer", "line too long");
            memcpy(answer, pmi->line, length);
            answer[length] = 0;
            pmi->line_length -= length + 1;
            memmove(pmi->line, end + 1, pmi->line_length);
            return 1;
        }
        if (pmi->line_length == sizeof(pmi->line))
            return fail(pmi, "answer", "line too long");
        const ssize_t n = recv(pmi->fd, pmi->line + pmi->line_length, sizeof(pmi->line) - pmi->line_length,
                               wait ? 0 : MSG_DONTWAIT);
        if (n == 0)
            return fail(pmi, "answer", "connection closed");
        if (n < 0 && errno == EAGAIN && !wait)
            return 0;
        if (n < 0 && errno != EINTR)
            return fail(pmi, "answer", strerror(errno));
        pmi->line_length += n > 0 ? (size_t)n : 0;
    }
}

static int is_end_of_fence(const char *line)
{
    return strncmp(line, "cmd=barrier_out", 15) == 0;
}

/* The answer of a request; a fence may be under way meanwhile. */
static int take_answer(pmi_t *pmi, char *line, size_t capacity)
{
    int got = take(pmi, line, capacity, 1);
    if (got > 0 && is_end_of_fence(line)) {
        pmi->fence_over = 1;
        got = take(pmi, line, capacity, 1);
    }
    return got;
}

/* Sends nothing; reads the answer `cmd` of the request before and checks that its rc, if any, is 0. */
static int answer_of(pmi_t *pmi, const char *command, char *line, size_t capacity)
{
    char text[256];
    if (take_answer(pmi, line, capacity) < 0)
        return -1;
    if (pmi1_field(line, "cmd", text, sizeof(text)) != 0 || strcmp(text, command) != 0)
        return fail(pmi, command, "unexpected answer");
    if (pmi1_field(line, "rc", text, sizeof(text)) == 0 && strcmp(text, "0") != 0)
        return fail(pmi, command, "refused by the launcher");
    return 0;
}

static int put(pmi_t *pmi, const char *key, const char *value)
{
    char line[4096];
    if (ask(pmi, "cmd=put kvsname=%s key=%s value=%s\n", pmi->job, key, value) != 0)
        return -1;
    return answer_of(pmi, "put_result", line, sizeof(line));
}

static int get(pmi_t *pmi, const char *key, char *value, size_t capacity)
{
    char line[8192];
    if (ask(pmi, "cmd=get kvsname=%s key=%s\n", pmi->job, key) != 0 ||
        answer_of(pmi, "get_result", line, sizeof(line)) != 0)
        return -1;
    return pmi1_field(line, "value", value, capacity) == 0 ? 0 : fail(pmi, key, "no value in the answer");
}

static int has(pmi_t *pmi, const char *key)
{
    char line[8192];
    char text[256];
    if (ask(pmi, "cmd=get kvsname=%s key=%s\n", pmi->job, key) != 0 || take_answer(pmi, line, sizeof(line)) < 0)
        return -1;
    if (pmi1_field(line, "cmd", text, sizeof(text)) != 0 || strcmp(text, "get_result") != 0)
        return fail(pmi, "get", "unexpected answer");
    return pmi1_field(line, "rc", text, sizeof(text)) != 0 || strcmp(text, "0") == 0;
}

static int fence_start(pmi_t *pmi)
{
    pmi->fence_over = 0;
    return ask(pmi, "cmd=barrier_in\n");
}

static int fence_test(pmi_t *pmi)
{
    char line[512];
    const int got = pmi->fence_over ? 1 : take(pmi, line, sizeof(line), 0);
    if (got <= 0 || pmi->fence_over)
        return got;
    return is_end_of_fence(line) ? 1 : fail(pmi, "barrier", "unexpected answer");
}

static void end(pmi_t *pmi, int code)
{
    (void)ask(pmi, "cmd=abort exitcode=%d\n", code);
}

static int finish(pmi_t *pmi)
{
    char line[512];
    const int rc = ask(pmi, "cmd=finalize\n") != 0 ? -1 : answer_of(pmi, "finalize_ack", line, sizeof(line));
    pmi->fd = -1; /* the socket stays open: the process may begin anew */
    return rc;
}

static const pmi_ops_t ops = {put, get, has, fence_start, fence_test, end, finish};

static int number(pmi_t *pmi, const char *request, const char *command, const char *key, int *value_p)
{
    char line[512];
    char text[32];
    if (ask(pmi, "cmd=%s\n", request) != 0 || answer_of(pmi, command, line, sizeof(line)) != 0)
        return -1;
    if (pmi1_field(line, key, text, sizeof(text)) != 0)
        return fail(pmi, request, "no value in the answer");
    *value_p = atoi(text);
    return 0;
}

static int hello(pmi_t *pmi)
{
    char line[512];
    int value_max;
    if (ask(pmi, "cmd=init pmi_version=1 pmi_subversion=1\n") != 0 ||
        answer_of(pmi, "response_to_init", line, sizeof(line)) != 0 ||
        number(pmi, "get_maxes", "maxes", "vallen_max", &value_max) != 0 ||
        number(pmi, "get_appnum", "appnum", "appnum", &pmi->appnum) != 0 ||
        number(pmi, "get_universe_size", "universe_size", "size", &pmi->universe) != 0)
        return -1;
    if (value_max < 64)
        return fail(pmi, "get_maxes", "values of fewer than 64 bytes");
    pmi->value_max = (size_t)value_max;
    if (ask(pmi, "cmd=get_my_kvsname\n") != 0 || answer_of(pmi, "my_kvsname", line, sizeof(line)) != 0)
        return -1;
    return pmi1_field(line, "kvsname", pmi->job, sizeof(pmi->job)) == 0 ? 0 : fail(pmi, "get_my_kvsname", "no name");
}

int pmi1_open(pmi_t *pmi, int fd)
{
    const char *rank = getenv("PMI_RANK");
    const char *size = getenv("PMI_SIZE");
    char mapping[4200]; /* mpiexec's longest */
    pmi->ops = &ops;
    pmi->fd = fd;
    if (rank == NULL || size == NULL || atoi(size) < 1 || atoi(rank) < 0 || atoi(rank) >= atoi(size))
        return fail(pmi, "start", "PMI_FD is set, but PMI_RANK and PMI_SIZE are no valid rank and size");
    pmi->rank = atoi(rank);
    pmi->size = atoi(size);
    if (hello(pmi) != 0)
        return -1;
    if (get(pmi, "PMI_process_mapping", mapping, sizeof(mapping)) == 0) {
        pmi->local_size = pmi_mapping_local(mapping, pmi->rank, pmi->size);
        pmi->node = pmi->local_size > 0 ? pmi_mapping_node(mapping, pmi->rank, pmi->size) : 0;
    }
    if (pmi->local_size > 0)
        pmi->mapping = strdup(mapping); /* without it no memory is shared */
    else                                /* no map: as if all were here; transports find out by themselves */
        pmi->local_size = pmi->size;
    pmi->error[0] = 0;
    return 0;
}
