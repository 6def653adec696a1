/* SPDX-License-Identifier: Apache-2.0
 * hosts.c - the hosts that ranks get: this one.
 */
#include "launch/launch.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *no_memory(void)
{
    return "no memory left";
}

const char *launch_place(launch_job_t *job)
{
    char own[HOST_NAME_MAX + 1] = "localhost";
    (void)gethostname(own, sizeof(own) - 1);
    job->ranks = calloc((size_t)job->size, sizeof(*job->ranks));
    job->hosts = calloc(1, sizeof(*job->hosts));
    if (job->ranks == NULL || job->hosts == NULL || asprintf(&job->mapping, "(vector,(0,1,%d))", job->size) < 0)
        return no_memory();
    *job->hosts = (launch_host_t){.name = strdup(own), .ranks = job->size, .channel = {.in = -1, .out = -1}};
    job->host_count = 1;
    job->local = job->size;
    for (int part = 0, rank = 0; part < job->part_count; part++)
        for (int i = 0; i < job->parts[part].ranks; i++, rank++)
            job->ranks[rank] = (launch_rank_t){.number = rank, .part = part, .input = -1, .pmi = -1,
                                               .streams = {{.fd = -1}, {.fd = -1}}};
    return job->hosts->name == NULL ? no_memory() : NULL;
}
