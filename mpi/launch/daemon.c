/* SPDX-License-Identifier: Apache-2.0
 * daemon.c - mpiexec on another host: it starts the ranks of that host and carries between them and mpiexec what they say
 * by PMI and what they write. It ends when its ranks have, or with the connection, and its ranks end with it.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launch/launch.h"

#define MOST_WAITING (1u << 20) /* bytes for mpiexec, beyond which output of ranks is not read */
#define PIECES 16               /* of LAUNCH_LINE bytes, at once: more than most pipes hold */
#define FAREWELL_MS 5000        /* that the last frames may take to leave */

static struct {
    launch_job_t job;
    launch_channel_t channel; /* to mpiexec */
    launch_channel_t input;   /* out: stdin of rank 0 */
    size_t unwritten[2];      /* bytes of stdout and stderr that mpiexec has not said to be taken */
    int ending;
} here;

static void send_frame(launch_frame_type_t type, const launch_rank_t *one, const void *bytes, size_t length)
{
    (void)channel_send(&here.channel, type, (uint32_t)one->number, bytes, length);
}

static void end(void)
{
    here.ending = 1;
    launch_kill(&here.job, here.job.local);
}

static void forward_line(launch_job_t *job, launch_rank_t *one, const char *line)
{
    (void)job;
    send_frame(FRAME_PMI, one, line, strlen(line));
}

/* What a pipe holds; the end closes the stream. */
static void forward_output(launch_rank_t *one, int which)
{
    char bytes[LAUNCH_LINE];
    launch_stream_t *stream = &one->streams[which];
    ssize_t n = 1;
    for (int i = 0; i < PIECES && (n = read(stream->fd, bytes, sizeof(bytes))) > 0; i++) {
        send_frame(which == 0 ? FRAME_OUT : FRAME_ERR, one, bytes, (size_t)n);
        here.unwritten[which] += (size_t)n;
    }
    if (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)))
        return;
    close(stream->fd);
    stream->fd = -1;
}

/* The same of a rank that has ended, whatever its pipe holds; a program that it has left behind may go on writing. */
static void forward_rest(launch_rank_t *one, int which)
{
    int left = 0;
    if (one->streams[which].fd >= 0)
        (void)ioctl(one->streams[which].fd, FIONREAD, &left);
    for (; left >= 0 && one->streams[which].fd >= 0; left -= PIECES * LAUNCH_LINE)
        forward_output(one, which);
}

static void on_ended(launch_rank_t *one, int status)
{
    const uint8_t bytes[] = {(uint8_t)status, (uint8_t)(status >> 8), (uint8_t)(status >> 16), 0};
    for (int i = 0; i < 2; i++)
        forward_rest(one, i);
    if (one->pmi >= 0)
        launch_pmi_read(&here.job, one, forward_line);
    send_frame(FRAME_EXIT, one, bytes, sizeof(bytes));
    one->pid = 0;
    here.job.running--;
}

static void reap(void)
{
    struct signalfd_siginfo info;
    int status;
    pid_t pid;
    while (read(here.job.signals, &info, sizeof(info)) == sizeof(info))
        if (info.ssi_signo != SIGCHLD)
            end();
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
        for (int i = 0; i < here.job.local; i++)
            if (here.job.ranks[i].pid == pid)
                on_ended(&here.job.ranks[i], status);
}

static launch_rank_t *rank_of(uint32_t number)
{
    for (int i = 0; i < here.job.local; i++)
        if ((uint32_t)here.job.ranks[i].number == number)
            return &here.job.ranks[i];
    return NULL;
}

static void on_number(launch_frame_type_t type, uint32_t number)
{
    size_t *unwritten = &here.unwritten[type == FRAME_ERR];
    if (type != FRAME_SIGNAL) {
        *unwritten -= number < *unwritten ? number : *unwritten;
        return;
    }
    here.job.asked |= number == SIGTERM;
    launch_signal(&here.job, (int)number, number == SIGTERM);
}

static void on_frame(const launch_frame_t *frame)
{
    launch_rank_t *one = rank_of(frame->rank);
    if (frame->type == FRAME_PMI && one != NULL) {
        if (one->pmi >= 0) /* a rank that has ended is seen by its status */
            (void)send(one->pmi, frame->payload, frame->length, MSG_NOSIGNAL);
    } else if (frame->type == FRAME_INPUT && frame->length > 0) {
        (void)channel_queue(&here.input, frame->payload, frame->length); /* feed writes it */
    } else if (frame->type == FRAME_INPUT) {
        here.input.in = -1; /* closed as soon as all has been written */
    } else if (frame->length == 4 &&
               (frame->type == FRAME_OUT || frame->type == FRAME_ERR || frame->type == FRAME_SIGNAL)) {
        on_number(frame->type, channel_number(frame->payload));
    } else {
        end();
    }
}

static void hear(void)
{
    launch_frame_t frame;
    int rc;
    const int ended = channel_read(&here.channel) != 0;
    while ((rc = channel_next(&here.channel, &frame)) > 0)
        on_frame(&frame);
    if ((ended || rc < 0) && here.channel.in >= 0) {
        close(here.channel.in);
        here.channel.in = -1;
        end();
    }
}

/* mpiexec has to know what rank 0 has taken: it sends no more than LAUNCH_INPUT beyond that. */
static void feed(void)
{
    const size_t before = channel_waiting(&here.input);
    if (here.input.out < 0)
        return;
    const int rc = channel_flush(&here.input);
    const size_t taken = before - channel_waiting(&here.input);
    if (taken > 0)
        (void)channel_send_number(&here.channel, FRAME_INPUT, 0, (uint32_t)taken);
    if (rc != 0 || (here.input.in < 0 && channel_waiting(&here.input) == 0)) {
        close(here.input.out);
        here.input.out = -1;
    }
}

static void fill(struct pollfd *entries)
{
    const int busy = channel_waiting(&here.channel) > MOST_WAITING;
    const int full[] = {busy || here.unwritten[0] > LAUNCH_OUTPUT, busy || here.unwritten[1] > LAUNCH_OUTPUT};
    entries[0] = (struct pollfd){.fd = here.job.signals, .events = POLLIN};
    entries[1] = (struct pollfd){.fd = here.channel.in, .events = POLLIN};
    entries[2] = (struct pollfd){.fd = channel_waiting(&here.channel) > 0 ? here.channel.out : -1, .events = POLLOUT};
    entries[3] = (struct pollfd){.fd = channel_waiting(&here.input) > 0 ? here.input.out : -1, .events = POLLOUT};
    for (int i = 0; i < here.job.local; i++) {
        const launch_rank_t *one = &here.job.ranks[i];
        entries[3 * i + 4] = (struct pollfd){.fd = full[0] ? -1 : one->streams[0].fd, .events = POLLIN};
        entries[3 * i + 5] = (struct pollfd){.fd = full[1] ? -1 : one->streams[1].fd, .events = POLLIN};
        entries[3 * i + 6] = (struct pollfd){.fd = one->pmi, .events = POLLIN};
    }
}

static void serve(const struct pollfd *entries)
{
    for (int i = 0; i < here.job.local; i++) {
        launch_rank_t *one = &here.job.ranks[i];
        for (int j = 0; j < 2; j++)
            if (entries[3 * i + 4 + j].revents && one->streams[j].fd >= 0)
                forward_output(one, j);
        if (entries[3 * i + 6].revents && one->pmi >= 0)
            launch_pmi_read(&here.job, one, forward_line);
    }
    if (entries[1].revents)
        hear();
    feed();
    if (channel_flush(&here.channel) != 0)
        end();
    reap();
}

static int failed(const char *text)
{
    struct pollfd entry = {.fd = here.channel.out, .events = POLLOUT};
    (void)channel_send(&here.channel, FRAME_FAILED, 0, text, strlen(text));
    while (channel_waiting(&here.channel) > 0 && poll(&entry, 1, FAREWELL_MS) > 0 && channel_flush(&here.channel) == 0)
        ;
    return 1;
}

/* The first frame; NULL, or what is wrong. */
static const char *learn(void)
{
    launch_frame_t frame;
    struct pollfd entry = {.fd = here.channel.in, .events = POLLIN};
    int rc;
    while ((rc = channel_next(&here.channel, &frame)) == 0)
        if ((poll(&entry, 1, -1) < 0 && errno != EINTR) || channel_read(&here.channel) != 0)
            return "mpiexec ended before it sent the programs to start";
    return rc < 0 || frame.type != FRAME_CONFIG ? "the first frame of mpiexec does not have the programs to start"
                                                : launch_config_get(&here.job, frame.payload, frame.length);
}

/* The channel gets descriptors that no rank inherits; what somebody prints by mistake goes to stderr. */
static void take_channel(void)
{
    here.channel = (launch_channel_t){
        .in = fcntl(0, F_DUPFD_CLOEXEC, 3), .out = fcntl(1, F_DUPFD_CLOEXEC, 3), .greeted = 1};
    const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    (void)dup2(nothing, 0);
    (void)dup2(2, 1);
    (void)fcntl(here.channel.in, F_SETFL, O_NONBLOCK);
    (void)fcntl(here.channel.out, F_SETFL, O_NONBLOCK);
    (void)channel_send_raw(&here.channel, CHANNEL_MAGIC, sizeof(CHANNEL_MAGIC) - 1);
}

/* sshd makes us the leader of a session. Its first group is an orphaned one, where SIGTSTP stops nobody: ranks have others. */
static int start_ranks(void)
{
    int ends[2];
    here.job.apart = 1;
    if (launch_prepare(&here.job) != 0 || pipe2(ends, O_CLOEXEC) != 0)
        return -1;
    here.input = (launch_channel_t){.in = 0, .out = ends[1]};
    (void)fcntl(ends[1], F_SETFL, O_NONBLOCK);
    for (int i = 0; i < here.job.local; i++) {
        launch_rank_t *one = &here.job.ranks[i];
        one->input = one->number == 0 ? ends[0] : -1;
        if (launch_start_rank(&here.job, one) != 0)
            return -1;
    }
    close(ends[0]);
    return 0;
}

/* Ranks that were asked to end have left something behind, which ends now; so does its output. */
static int is_leaving(void)
{
    return here.job.asked && !here.ending && launch_has_orphans(&here.job);
}

int launch_daemon(void)
{
    (void)signal(SIGPIPE, SIG_IGN);
    here.job.signals = launch_signals();
    take_channel();
    const char *wrong = learn();
    if (wrong != NULL)
        return failed(wrong);
    struct pollfd *entries = calloc(3 * (size_t)here.job.local + 4, sizeof(*entries));
    if (entries == NULL || here.job.signals < 0 || start_ranks() != 0) {
        end();
        return failed("its ranks cannot be started: its own lines say why");
    }
    while (here.job.running > 0 || is_leaving()) {
        fill(entries);
        if (poll(entries, 3 * (nfds_t)here.job.local + 4, -1) < 0 && errno != EINTR)
            break;
        serve(entries);
    }
    for (int i = 0; i < 2 * here.job.local; i++)
        forward_rest(&here.job.ranks[i / 2], i % 2);
    if (here.ending)
        launch_end_orphans();
    struct pollfd last = {.fd = here.channel.out, .events = POLLOUT};
    while (channel_waiting(&here.channel) > 0 && poll(&last, 1, FAREWELL_MS) > 0 && channel_flush(&here.channel) == 0)
        ;
    free(entries);
    return 0;
}
