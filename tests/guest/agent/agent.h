/* SPDX-License-Identifier: Apache-2.0
 * agent.h - the only program of the guest's first file system: process 1, which loads modules, mounts the host's tree
 * and runs the commands that the host sends over a virtio-serial port. One thread.
 *
 * Frames, both ways: a line "KIND ID VALUE LENGTH\n" and LENGTH bytes.
 *   from the host   S setup (text, root.c)   R run a command: value = limit in s   K send signal `value` to command ID
 *   from the guest  B booted   M mounted   E error (text)   O output of command ID   X its end: value = status */
#ifndef VBN_TESTS_GUEST_AGENT_H
#define VBN_TESTS_GUEST_AGENT_H

#include <poll.h>
#include <stddef.h>

#define FRAME_MAX 262144 /* bytes of one frame from the host, header included */
#define JOBS 32
#define STATUS_LIMIT 124 /* of a command that reached its limit, as timeout(1) gives */

struct frame {
    char kind;
    unsigned id;
    long value;
    char *data; /* ends with a 0 that is not counted in length; valid until the next call of port_next() */
    size_t length;
};

/* port.c: fatal() reports to the host if it can, and ends the guest. */
int port_open(void);
void port_send(char kind, unsigned id, long value, const void *data, size_t length);
void port_receive(void);
int port_next(struct frame *frame); /* 1: a whole frame, 0: none yet */
void fatal(const char *what, const char *subject);

/* boot.c */
void boot(void);
void make_folders(const char *path); /* mkdir -p */
void mount_or_die(const char *source, const char *target, const char *type, unsigned long flags, const char *options);

/* root.c */
void setup(char *text);

/* jobs.c */
void job_start(const struct frame *frame);
void job_signal(unsigned id, int number);
int job_poll_fds(struct pollfd *fds); /* fills at most JOBS entries; returns how many */
void job_output(int fd);
void job_reap(void);
int job_limits(void); /* ends what is over its limit; ms until it must be called again, or -1 */

#endif
