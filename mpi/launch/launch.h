/* SPDX-License-Identifier: Apache-2.0
 * launch.h - mpiexec: starts the ranks of a job on this host, serves PMI-1 to them, forwards their output line by
 * line, and ends the job when a rank ends abnormally.
 *
 * One poll loop over the ranks' sockets and pipes and a signalfd (SIGCHLD, SIGINT, SIGTERM); nothing blocks in it.
 */
#ifndef VERBENA_LAUNCH_H
#define VERBENA_LAUNCH_H

#include <stddef.h>
#include <sys/types.h>

#define LAUNCH_PEER_LOST 58 /* MPI_ERR_PROC_ABORTED: exit code of a rank that ends because it lost another one */
#define LAUNCH_LINE 8192    /* longest line of PMI, and of output that is kept together */

/* One part of the command line between colons. */
typedef struct launch_part {
    int ranks;
    char **arguments; /* program first, NULL last */
    const char *folder;
    const char **environment; /* NAME, VALUE pairs */
    int environment_count;
} launch_part_t;

typedef struct launch_stream {
    int fd;     /* of the rank's pipe, -1: it ended */
    int target; /* 1 or 2 */
    size_t length;
    char line[LAUNCH_LINE];
} launch_stream_t;

typedef struct launch_rank {
    pid_t pid; /* 0: it has ended */
    int part;
    int pmi;         /* our end of its PMI socket, -1: closed */
    int initialized; /* it has said cmd=init, and not yet cmd=finalize */
    int in_barrier;
    size_t line_length;
    char line[LAUNCH_LINE];
    launch_stream_t streams[2];
} launch_rank_t;

typedef struct launch_pair {
    char *key;
    char *value;
} launch_pair_t;

typedef struct launch_job {
    launch_part_t *parts;
    int part_count;
    int size;
    int labels; /* -l: each line begins with its rank */
    int key_fd;
    int running;
    int waiting;    /* ranks in the barrier */
    int code;       /* exit code of the job */
    int ending;     /* the rest was killed */
    int complained; /* a rank ended because it lost another one */
    int signals;    /* signalfd */
    launch_rank_t *ranks;
    launch_pair_t *pairs; /* the key-value space, by key */
    size_t pair_count;
    size_t pair_room;
} launch_job_t;

/* Fills parts and options; on bad input prints why and exits with 2. Exits with 0 after --help, --version. */
void launch_parse(launch_job_t *job, int argc, char **argv);
/* Starts every rank; 0 or -1 with a message printed. */
int launch_start(launch_job_t *job);
/* Runs the job to its end; gives its exit code. */
int launch_run(launch_job_t *job);
/* Kills what still runs; the job's code is this one unless it has one already. */
void launch_end(launch_job_t *job, int code);

/* A rank has lost a peer: waits a moment for the end of the process that it lost, and judges that one first. */
void launch_wait_for_death(launch_job_t *job);

/* Reads what the rank said by PMI and answers. */
void launch_pmi_read(launch_job_t *job, int rank);
void launch_pmi_free(launch_job_t *job);
/* Forwards what has come; whole lines only, unless one is longer than the buffer. */
void launch_output_read(const launch_job_t *job, int rank, launch_stream_t *stream);

#endif
