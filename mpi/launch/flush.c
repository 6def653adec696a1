/* SPDX-License-Identifier: Apache-2.0
 * flush.c - what happens to the sinks, and the last output of a job.
 */
#include "launch/launch.h"
#include "launch/sink.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define STUCK_MS 1000 /* without a byte written, after a signal */

static const char *const names[] = {"", "stdout", "stderr"};

/* A program whose output nobody reads any more ends by SIGPIPE: so does the job, and says as little. */
static void on_error(launch_job_t *job, int target)
{
    static int told[2];
    const int error = sink_error(target);
    if (error == 0 || told[sink_of(target)])
        return;
    told[sink_of(target)] = 1;
    if (error == EPIPE) {
        launch_ask(job, SIGPIPE);
        return;
    }
    job->output_lost = 1;
    launch_say(
        "%s cannot be written: %s; output of the ranks is lost until that is mended, and mpiexec will not end with 0",
        names[target], strerror(error));
}

void launch_output_look(launch_job_t *job)
{
    sink_look();
    on_error(job, STDOUT_FILENO);
    on_error(job, STDERR_FILENO);
}

/* Waits for news of the sinks. 0: it is not worth waiting any longer. */
static int wait_for_sinks(launch_job_t *job)
{
    struct pollfd entries[] = {{.fd = job->sinks, .events = POLLIN}, {.fd = job->signals, .events = POLLIN}};
    const uint64_t before = sink_written();
    const int n = poll(entries, 2, job->asked ? STUCK_MS : -1);
    launch_on_signals(job);
    launch_output_look(job);
    return !job->hasty && (n != 0 || sink_written() != before);
}

static int read_rest(launch_job_t *job, launch_rank_t *one, launch_stream_t *stream)
{
    char bytes[LAUNCH_LINE];
    int left = 0;
    int go_on = 1;
    if (stream->fd >= 0)
        (void)ioctl(stream->fd, FIONREAD, &left);
    while (left > 0 && go_on) {
        const ssize_t n = read(stream->fd, bytes, left < LAUNCH_LINE ? (size_t)left : sizeof(bytes));
        if (n <= 0)
            break;
        launch_output_put(job, one, stream, bytes, (size_t)n);
        left -= (int)n;
        while (go_on && sink_is_full(stream->target))
            go_on = wait_for_sinks(job);
    }
    launch_output_end(job, one, stream);
    return go_on;
}

/* What happened to the last bytes may be worth a line, which comes behind them. */
void launch_output_flush(launch_job_t *job)
{
    int go_on = 1;
    do {
        while (go_on && sink_waiting(STDOUT_FILENO) + sink_waiting(STDERR_FILENO) > 0)
            go_on = wait_for_sinks(job);
        launch_output_look(job);
    } while (go_on && sink_waiting(STDERR_FILENO) > 0);
}

void launch_output_finish(launch_job_t *job)
{
    int go_on = 1;
    for (int i = 0; i < 2 * job->size && go_on; i++)
        go_on = read_rest(job, &job->ranks[i / 2], &job->ranks[i / 2].streams[i % 2]);
    if (go_on)
        launch_output_flush(job);
}
