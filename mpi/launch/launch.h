/* SPDX-License-Identifier: Apache-2.0
 * launch.h - mpiexec: starts the ranks of a job on its hosts, serves PMI-1 to them, forwards their output line by line,
 * and ends the job when a rank or a host ends abnormally.
 *
 * One poll loop over the ranks' sockets and pipes, the channels of other hosts and a signalfd; nothing blocks in it, and threads
 * write what it forwards (sink.h). On another host a daemon, the same program, starts the ranks (daemon.c) and has a loop of its
 * own.
 */
#ifndef VERBENA_LAUNCH_H
#define VERBENA_LAUNCH_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "launch/channel.h"

#define LAUNCH_ALL_WELL 256 /* shmem_global_exit(0): the job ends, and that is no failure */
#define LAUNCH_PEER_LOST 58 /* MPI_ERR_PROC_ABORTED: exit code of a rank that ends because it lost another one */
#define LAUNCH_LINE 8192    /* longest line of PMI, and of output that is kept together */
#define LAUNCH_KEY_BYTES 32
#define LAUNCH_INPUT 262144  /* most bytes of stdin on their way to a rank 0 elsewhere */
#define LAUNCH_OUTPUT 262144 /* most bytes of stdout, and of stderr, on their way from another host */
#define LAUNCH_VERSION "0.1.0"

/* Hosts as the command line names them, in order. */
typedef struct launch_list {
    int *hosts; /* entries of job->hosts */
    int *slots; /* ranks that a host takes in its turn; 0: not said */
    int count;
} launch_list_t;

/* One part of the command line between colons. */
typedef struct launch_part {
    int ranks;
    char **arguments; /* program first, NULL last */
    const char *folder;
    const char **environment; /* NAME, VALUE pairs */
    int environment_count;
    launch_list_t hosts; /* empty: the job's */
} launch_part_t;

typedef enum launch_way { LAUNCH_CHOOSE, LAUNCH_FORK, LAUNCH_SSH } launch_way_t;

typedef struct launch_host {
    const char *name;
    int fake;   /* this host stands for it: a group of its own (tl.shm.group) keeps shared memory apart */
    int remote; /* behind a channel */
    int ranks;
    int running;    /* of a remote one */
    pid_t pid;      /* of the ssh that carries the channel; 0: it has ended */
    int status;     /* how that ended */
    int lost;       /* its end was reported */
    size_t owed[2]; /* bytes of its ranks' output that it does not know to be taken */
    launch_channel_t channel;
} launch_host_t;

typedef struct launch_stream {
    int fd;        /* of the rank's pipe, -1: it ended */
    int target;    /* 1 or 2 */
    int64_t since; /* ns: when the line that has no end yet began; 0: there is none */
    size_t length;
    char line[LAUNCH_LINE];
} launch_stream_t;

typedef struct launch_rank {
    pid_t pid;  /* 0: it has ended, or runs on a remote host */
    int number; /* in the job */
    int part;
    int host;
    int away;        /* it runs on a remote host */
    int input;       /* what its stdin is; -1: ours for rank 0, nothing for others */
    int pmi;         /* our end of its PMI socket, -1: closed */
    int initialized; /* it has said cmd=init, and not yet cmd=finalize */
    int finalized;   /* it has said cmd=finalize, and not cmd=init again */
    int left;        /* it ended with exit code 0 and without cmd=finalize */
    int in_barrier;
    int ended;
    int status; /* of waitpid, if that ended the job */
    size_t line_length;
    char line[LAUNCH_LINE];
    launch_stream_t streams[2];
} launch_rank_t;

typedef struct launch_pair {
    char *key;
    char *value;
} launch_pair_t;

/* The first failure that another rank's death may have caused. */
typedef struct launch_failure {
    int64_t since; /* ns; 0: there is none */
    int code;      /* the job's, if no such death is seen */
    int rank;      /* that mpiexec tells of; -1: the rank has told it itself */
} launch_failure_t;

typedef struct launch_job {
    launch_part_t *parts;
    int part_count;
    int size;
    int labels;  /* -l: each line begins with its rank */
    int explain; /* -explain */
    launch_way_t way;
    const char *ssh; /* the program that reaches other hosts */
    int per_host;    /* -ppn; 0: not said */
    int fakes;       /* -fake-hosts */
    launch_list_t list;
    launch_host_t *hosts;
    int host_count;
    char *mapping; /* PMI_process_mapping */
    int local;     /* ranks that this process starts */
    int input_ended;
    size_t input; /* bytes of stdin that a rank 0 elsewhere has not taken yet */
    int key_fd;
    uint8_t key[LAUNCH_KEY_BYTES];
    int running;
    int waiting; /* ranks in the barrier */
    int code;    /* exit code of the job */
    int ending;  /* the rest was killed */
    launch_failure_t failure;
    int left;           /* ranks that have */
    int64_t left_since; /* ns: the first one */
    int64_t ended;      /* ns: since when the rest is being killed */
    int kill_after;     /* -kill-after: s that ranks have to end when they are asked to */
    int timeout;        /* --timeout: s that the job may run; 0: as long as it likes */
    int asked;          /* the signal for which they were; 0: they were not */
    int64_t kill_at;    /* ns: when those that are left are killed */
    int hasty;          /* who sent that signal waits for nothing any more */
    int output_lost;    /* some of the ranks' output could not be written */
    int apart;          /* ranks have process groups of their own (daemon.c) */
    int signals;        /* signalfd */
    int sinks;          /* readable when a sink has news (sink.h); -1: there are no threads */
    launch_rank_t *ranks;
    launch_pair_t *pairs; /* the key-value space, by key */
    size_t pair_count;
    size_t pair_room;
} launch_job_t;

/* Fills parts and options; on bad input prints why and exits with 2. Exits with 0 after --help, --version. */
void launch_parse(launch_job_t *job, int argc, char **argv);
/* The entry of a host's name, made if there is none. -1: no memory left. */
int launch_host(launch_job_t *job, const char *name);
/* Adds names of "a,b:4", or of a file with lines "a", "a:4", "a slots=4". NULL, or what is wrong with it. */
const char *launch_list_names(launch_job_t *job, launch_list_t *list, const char *names);
const char *launch_list_file(launch_job_t *job, launch_list_t *list, const char *path);
/* Makes the ranks and gives each a host. NULL, or what is wrong. */
const char *launch_place(launch_job_t *job);

/* The family of libraries that a program needs by itself. */
typedef struct launch_family {
    const char *folder; /* of ours, below lib/; NULL: it needs none */
    int has_rpath;      /* the program's DT_RPATH is stronger than LD_LIBRARY_PATH */
} launch_family_t;

/* Looks into the file that execvp would run. */
launch_family_t launch_family(const char *program);
/* Sets LD_LIBRARY_PATH of this process, and LD_PRELOAD where needed: its next program finds our libraries of other ABIs, and with
 * mpi.heap=node the one of mpi/heap. */
void launch_family_environment(const char *program);

/* Makes the job key, raises limits. -1 with a message printed. */
int launch_prepare(launch_job_t *job);
/* Starts one rank in this process; 0 or -1 with a message printed. */
int launch_start_rank(launch_job_t *job, launch_rank_t *one);
/* Starts what every host runs; 0 or -1 with a message printed. */
int launch_start(launch_job_t *job);
/* Runs the job to its end; gives its exit code. */
int launch_run(launch_job_t *job);
/* Kills what still runs; the job's code is this one unless it has one already (end.c). */
void launch_end(launch_job_t *job, int code);
/* The job ends with this code when no death is seen that caused the failure (verdict.c); meanwhile its ranks stand still, unless
 * the code is LAUNCH_PEER_LOST: a rank has lost another one. rank: that mpiexec tells of; -1: the rank has told it itself. */
void launch_fail(launch_job_t *job, int code, int rank);
/* Asks the ranks to end, by SIGTERM, since mpiexec got this signal; job->kill_after seconds later the rest is killed. */
void launch_ask(launch_job_t *job, int signal);
/* Sends a signal to the ranks of all other hosts. */
void launch_remote_signal(launch_job_t *job, int signal);
/* Kills what is left of a job that was asked to end, when it is time. */
void launch_ask_over(launch_job_t *job);
/* Milliseconds until then; -1: never. */
int launch_ask_due(const launch_job_t *job);
/* Whether ranks that were asked to end have left processes behind, here or on other hosts, which end now. */
int launch_is_leaving(const launch_job_t *job);
/* Stops, then kills the ranks of this process. */
void launch_kill(const launch_job_t *job, int count);
/* Before the first rank: what ranks leave behind is ours (orphans.c). Then kills all that is; our own children have ended. */
void launch_adopt(void);
void launch_end_orphans(void);
/* Sends a signal to the ranks of this process and all that they have started; all: they are stopped meanwhile, so that none
 * sees another one's end before its own. */
void launch_signal(const launch_job_t *job, int signal, int all);
/* Whether there is something that ranks have left behind. */
int launch_has_orphans(const launch_job_t *job);
void launch_free(launch_job_t *job);
/* ns, of a clock that nobody sets. */
int64_t launch_now(void);
/* A signalfd for what daemons handle, and for what mpiexec does; -1: none (signals.c). */
int launch_signals(void);
int launch_all_signals(void);
/* Takes what has come for mpiexec: forwards it to the ranks, or asks them to end. */
void launch_on_signals(launch_job_t *job);

/* Other hosts (remote.c): starts the daemon, serves its channel, and its end. */
int launch_remote_start(launch_job_t *job, int host);
void launch_remote_serve(launch_job_t *job, int host);
void launch_remote_reaped(launch_job_t *job, pid_t pid, int status);
void launch_remote_feed(launch_job_t *job);
/* Tells the other hosts how much of their ranks' output is written. */
void launch_remote_credit(launch_job_t *job);
/* What a daemon has to know: -1: no memory left. And it learns that: NULL, or what is wrong with it. */
int launch_config_put(const launch_job_t *job, int host, launch_bytes_t *bytes);
const char *launch_config_get(launch_job_t *job, const uint8_t *bytes, size_t length);
/* Lives on another host, and ends with its channel. */
int launch_daemon(void);

typedef struct launch_process {
    pid_t parent;
    unsigned flags; /* the kernel's, PF_* */
    char state;     /* R, S, D, T, Z, ... of proc(5) */
} launch_process_t;

/* What the kernel says of a process; -1: it is gone. */
int launch_process(pid_t pid, launch_process_t *process);

/* How a rank ended, and whether that ends the job (verdict.c): at once by a signal, else when no death is seen that caused it. */
void launch_judge(launch_job_t *job, int rank, int status);
/* Milliseconds until a failure ends the job if no death is seen; -1: there is none. */
int launch_verdict_due(const launch_job_t *job);
/* Ends the job with the failure's code, if there is one. */
void launch_verdict(launch_job_t *job);
/* All ranks have ended: a warning for those that have left. */
void launch_verdict_end(const launch_job_t *job);

/* Reads what the rank said by PMI; each whole line goes to on_line. */
typedef void (*launch_line_t)(launch_job_t *job, launch_rank_t *one, const char *line);
void launch_pmi_read(launch_job_t *job, launch_rank_t *one, launch_line_t on_line);
/* Answers one line. */
void launch_pmi_line(launch_job_t *job, launch_rank_t *one, const char *line);
/* A rank that has left enters no barrier any more: the others may be complete now. */
void launch_pmi_left(launch_job_t *job, launch_rank_t *one);
void launch_pmi_free(launch_job_t *job);

/* Prints "mpiexec: ...", a line of its own; its end is added. */
void launch_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Forwards what has come, whole lines only, unless one is longer than the buffer or older than launch_output_due allows; nothing
 * while the sink is full, unless always is set. 1: there may be more. */
int launch_output_read(const launch_job_t *job, launch_rank_t *one, launch_stream_t *stream, int always);
/* The same with bytes from elsewhere. */
void launch_output_put(const launch_job_t *job, launch_rank_t *one, launch_stream_t *stream, const void *bytes,
                       size_t length);
/* The end of a stream: what is left is a line, too. */
void launch_output_end(const launch_job_t *job, launch_rank_t *one, launch_stream_t *stream);
/* Forwards lines that have waited for their end long enough, such as prompts. Milliseconds until the next one; -1: none. */
int launch_output_due(launch_job_t *job);
/* What happened to the sinks: a reader that has gone ends the job, other errors are told once. */
void launch_output_look(launch_job_t *job);
/* Forwards what ranks that have ended wrote, and waits until it is written; a program that they have left behind may hold their
 * pipes open, and is not waited for. After a signal: only as long as somebody reads. */
void launch_output_finish(launch_job_t *job);
/* Waits in the same way for lines of mpiexec's own that came since. */
void launch_output_flush(launch_job_t *job);

#endif
