/* SPDX-License-Identifier: Apache-2.0
 * config.c - what the daemon of another host has to know: programs, ranks, environment, job key.
 *
 * Numbers are u32, little endian; a text is its length and its bytes. Order: version; host: name, number of ranks of the
 * job; key; folder; environment: count, "NAME=VALUE" each; parts: count, each: arguments, own folder, own variables;
 * ranks of this host: count, each: number, part.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launch/launch.h"

extern char **environ;

/* Variables that describe the host, the login or this process and not the job. */
static const char *const stays[] = {"HOME",    "HOSTNAME", "USER",   "LOGNAME", "SHELL",        "MAIL",      "DISPLAY",
                                    "TERM",    "PWD",      "OLDPWD", "SHLVL",   "TMPDIR",       "TMUX",      "_",
                                    "SSH_*",   "XDG_*",    "DBUS_*", "PMI_*",   "VERBENA_KEY*", "WINDOWID",  "STY",
                                    "COLUMNS", "LINES",    "PMIX_*", "SUDO_*",  "SYSTEMD_*",    "JOURNAL_*", NULL};

static int stays_here(const char *variable)
{
    const size_t length = strcspn(variable, "=");
    for (const char *const *name = stays; *name != NULL; name++) {
        const size_t n = strlen(*name);
        const int prefix = (*name)[n - 1] == '*';
        if (prefix ? strncmp(variable, *name, n - 1) == 0 : n == length && strncmp(variable, *name, n) == 0)
            return 1;
    }
    return 0;
}

static void put_number(FILE *to, size_t value)
{
    for (unsigned i = 0; i < 4; i++)
        fputc((int)(value >> 8 * i & 255), to);
}

static void put_bytes(FILE *to, const void *bytes, size_t length)
{
    put_number(to, length);
    (void)fwrite(bytes, 1, length, to);
}

static void put_text(FILE *to, const char *text)
{
    put_bytes(to, text, strlen(text));
}

static void put_environment(FILE *to)
{
    size_t count = 0;
    for (char **one = environ; *one != NULL; one++)
        count += !stays_here(*one);
    put_number(to, count);
    for (char **one = environ; *one != NULL; one++)
        if (!stays_here(*one))
            put_text(to, *one);
}

static void put_part(FILE *to, const launch_part_t *part)
{
    size_t count = 0;
    while (part->arguments[count] != NULL)
        count++;
    put_number(to, count);
    for (size_t i = 0; i < count; i++)
        put_text(to, part->arguments[i]);
    put_text(to, part->folder == NULL ? "" : part->folder);
    put_number(to, 2 * (size_t)part->environment_count);
    for (int i = 0; i < 2 * part->environment_count; i++)
        put_text(to, part->environment[i]);
}

int launch_config_put(const launch_job_t *job, int host, launch_bytes_t *bytes)
{
    char folder[4096] = ""; /* every program has its own */
    FILE *to = open_memstream((char **)&bytes->data, &bytes->length);
    if (to == NULL)
        return -1;
    for (int i = 0; i < job->part_count; i++)
        if (job->parts[i].folder == NULL && getcwd(folder, sizeof(folder)) == NULL)
            folder[0] = 0;
    put_text(to, LAUNCH_VERSION);
    put_text(to, job->hosts[host].name);
    put_number(to, (size_t)job->size);
    put_bytes(to, job->key, sizeof(job->key));
    put_text(to, folder);
    put_environment(to);
    put_number(to, (size_t)job->part_count);
    for (int i = 0; i < job->part_count; i++)
        put_part(to, &job->parts[i]);
    put_number(to, (size_t)job->hosts[host].ranks);
    for (int i = 0; i < job->size; i++)
        if (job->ranks[i].host == host) {
            put_number(to, (size_t)i);
            put_number(to, (size_t)job->ranks[i].part);
        }
    return fclose(to) == 0 && bytes->length <= CHANNEL_MOST ? 0 : -1;
}

/* What is left to read. */
typedef struct source {
    const uint8_t *at;
    size_t left;
    int broken;
} source_t;

static size_t get_number(source_t *from)
{
    size_t value = 0;
    if (from->left < 4) {
        from->broken = 1;
        return 0;
    }
    for (unsigned i = 0; i < 4; i++)
        value |= (size_t)from->at[i] << 8 * i;
    from->at += 4;
    from->left -= 4;
    return value;
}

/* How many things follow, each of which takes `bytes` at least. */
static size_t get_count(source_t *from, size_t bytes)
{
    const size_t count = get_number(from);
    from->broken |= count > from->left / bytes;
    return from->broken ? 0 : count;
}

/* Allocated; "" when it is broken. */
static char *get_text(source_t *from)
{
    const size_t length = get_count(from, 1);
    char *text = strndup((const char *)from->at, length);
    if (text == NULL || strlen(text) != length) {
        from->broken = 1;
        return text;
    }
    from->at += length;
    from->left -= length;
    return text;
}

static char **get_texts(source_t *from, size_t *count_p)
{
    const size_t count = get_count(from, 4);
    char **texts = calloc(count + 1, sizeof(*texts));
    *count_p = texts == NULL ? 0 : count;
    from->broken |= texts == NULL;
    for (size_t i = 0; i < *count_p; i++)
        texts[i] = get_text(from);
    return texts;
}

static void get_part(source_t *from, launch_part_t *part)
{
    size_t count;
    part->arguments = get_texts(from, &count);
    from->broken |= count == 0;
    part->folder = get_text(from);
    if (part->folder != NULL && part->folder[0] == 0) {
        free((char *)(uintptr_t)part->folder);
        part->folder = NULL;
    }
    part->environment = (const char **)get_texts(from, &count);
    from->broken |= count % 2 != 0;
    part->environment_count = (int)(count / 2);
}

static void get_ranks(source_t *from, launch_job_t *job)
{
    const size_t count = get_count(from, 8);
    job->local = (int)count;
    job->ranks = calloc(count + 1, sizeof(*job->ranks));
    if (job->ranks == NULL) {
        job->local = 0;
        from->broken = 1;
    }
    for (int i = 0; i < job->local; i++) {
        launch_rank_t *one = &job->ranks[i];
        const size_t number = get_number(from);
        const size_t part = get_number(from);
        from->broken |= number >= (size_t)job->size || part >= (size_t)job->part_count;
        *one = (launch_rank_t){
            .number = (int)number, .part = (int)part, .input = -1, .pmi = -1, .streams = {{.fd = -1}, {.fd = -1}}};
    }
}

static void take_environment(source_t *from)
{
    size_t count;
    char **variables = get_texts(from, &count);
    for (size_t i = 0; i < count; i++)
        if (variables[i] != NULL && strchr(variables[i], '=') != NULL)
            (void)putenv(variables[i]); /* it stays there */
    free(variables);
}

static void get_key(source_t *from, launch_job_t *job)
{
    if (get_count(from, 1) != sizeof(job->key) || from->left < sizeof(job->key)) {
        from->broken = 1;
        return;
    }
    memcpy(job->key, from->at, sizeof(job->key));
    from->at += sizeof(job->key);
    from->left -= sizeof(job->key);
}

const char *launch_config_get(launch_job_t *job, const uint8_t *bytes, size_t length)
{
    static char problem[300];
    source_t from = {.at = bytes, .left = length};
    char *version = get_text(&from);
    if (from.broken || strcmp(version, LAUNCH_VERSION) != 0) {
        snprintf(problem, sizeof(problem),
                 "mpiexec here is version %s, that of the job is another one: install the same", LAUNCH_VERSION);
        free(version);
        return problem;
    }
    free(version);
    char *name = get_text(&from);
    if (from.broken || launch_host(job, name) < 0)
        from.broken = 1;
    free(name);
    job->size = (int)(get_number(&from) & INT32_MAX);
    get_key(&from, job);
    char *folder = get_text(&from);
    take_environment(&from);
    const size_t parts = get_count(&from, 12);
    job->parts = calloc(parts + 1, sizeof(*job->parts));
    job->part_count = job->parts == NULL ? 0 : (int)parts;
    for (int i = 0; i < job->part_count; i++)
        get_part(&from, &job->parts[i]);
    get_ranks(&from, job);
    const int stayed = folder != NULL && folder[0] != 0 && chdir(folder) != 0;
    if (stayed)
        snprintf(problem, sizeof(problem), "folder %.200s is not there: choose another one by -wdir", folder);
    free(folder);
    return from.broken || job->size < 1 || job->host_count != 1 ? "the configuration from mpiexec cannot be read"
           : stayed                                             ? problem
                                                                : NULL;
}
