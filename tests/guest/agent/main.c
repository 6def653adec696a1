/* SPDX-License-Identifier: Apache-2.0
 * main.c - the agent's loop: frames from the host, output and ends of commands, limits. */
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "agent.h"

static void handle(const struct frame *frame)
{
    switch (frame->kind) {
    case 'S':
        setup(frame->data);
        port_send('M', 0, 0, NULL, 0);
        break;
    case 'R': job_start(frame); break;
    case 'K': job_signal(frame->id, (int)frame->value); break;
    default: fatal("a frame of unknown kind came from the host", "");
    }
}

static int children_fd(void)
{
    sigset_t set;
    int fd;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, NULL);
    fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (fd < 0)
        fatal("signalfd", "");
    return fd;
}

static void serve(int port, int children)
{
    struct pollfd fds[JOBS + 2] = {{port, POLLIN, 0}, {children, POLLIN, 0}};
    struct signalfd_siginfo info;
    struct frame frame;
    int count = 2 + job_poll_fds(fds + 2);
    if (poll(fds, (nfds_t)count, job_limits()) < 0)
        return;
    for (int i = 2; i < count; i++)
        if (fds[i].revents != 0)
            job_output(fds[i].fd);
    while (read(children, &info, sizeof(info)) > 0)
        continue;
    job_reap();
    if (fds[0].revents & POLLIN)
        port_receive();
    else if (fds[0].revents != 0)
        usleep(10000); /* the host's side is not there yet: after a restart from a snapshot */
    while (port_next(&frame))
        handle(&frame);
}

int main(void)
{
    int children = children_fd(), port;
    boot();
    port = port_open();
    port_send('B', 0, 0, NULL, 0);
    for (;;)
        serve(port, children);
}
