/* SPDX-License-Identifier: Apache-2.0
 * channel.h - frames between mpiexec and its daemon on another host, over the two pipes of an ssh that carries them. ssh
 * encrypts them and has checked who is at both ends, so the job key may travel in them.
 *
 *   0 u32 bytes of the payload | 4 u32 rank | 8 u8 type (launch_frame_type_t) | 9 payload        all little endian
 *
 * What a login shell prints before the daemon's first frame is skipped: frames begin behind CHANNEL_MAGIC.
 * C1 Reading and writing never block; what the other side does not take waits in tx.
 * C2 A frame longer than CHANNEL_MOST, or of no known type, ends the channel.
 */
#ifndef VERBENA_LAUNCH_CHANNEL_H
#define VERBENA_LAUNCH_CHANNEL_H

#include <stddef.h>
#include <stdint.h>

#define CHANNEL_MAGIC "\nverbena-daemon 1\n"
#define CHANNEL_MOST (16u << 20)
#define CHANNEL_NOISE 65536u /* most bytes that a login shell may print */

typedef enum launch_frame_type {
    FRAME_CONFIG = 1, /* to the daemon: the job, the first frame (config.c) */
    FRAME_PMI,        /* both ways: a line of PMI-1 with its end */
    FRAME_INPUT,      /* to the daemon: stdin of rank 0, empty: its end; from it: u32, so many bytes were taken */
    FRAME_END,        /* to the daemon: kill the ranks */
    FRAME_SIGNAL,     /* to the daemon: u32, a signal for the ranks and what they have started */
    FRAME_OUT,        /* from it: what a rank wrote to stdout; to it: u32, so many bytes of that were taken */
    FRAME_ERR,        /* the same of stderr */
    FRAME_EXIT,       /* a rank ended: u32 status of waitpid */
    FRAME_FAILED,     /* the daemon cannot go on: a text */
    FRAME_TYPES
} launch_frame_type_t;

typedef struct launch_bytes {
    uint8_t *data;
    size_t at; /* the first one that is still needed */
    size_t length;
    size_t room;
} launch_bytes_t;

typedef struct launch_channel {
    int in;      /* -1: ended */
    int out;     /* -1: ended */
    int greeted; /* the magic was there; the daemon's end starts with 1 */
    launch_bytes_t rx;
    launch_bytes_t tx;
} launch_channel_t;

typedef struct launch_frame {
    launch_frame_type_t type;
    uint32_t rank;
    const uint8_t *payload; /* valid until the next call on the channel */
    uint32_t length;
} launch_frame_t;

/* Queues a frame and writes what can be written. -1: the other side is gone, or no memory is left. */
int channel_send(launch_channel_t *channel, launch_frame_type_t type, uint32_t rank, const void *payload,
                 size_t length);
/* Queues bytes as they are; -1: no memory is left. */
int channel_queue(launch_channel_t *channel, const void *bytes, size_t length);
/* And writes what can be written. */
int channel_send_raw(launch_channel_t *channel, const void *bytes, size_t length);
/* Writes what can be written; -1: the other side is gone. */
int channel_flush(launch_channel_t *channel);
size_t channel_waiting(const launch_channel_t *channel);
/* Reads what is there; -1: the end, or no memory is left. */
int channel_read(launch_channel_t *channel);
/* The next whole frame: 1; 0: none yet; -1: not what a daemon sends. */
int channel_next(launch_channel_t *channel, launch_frame_t *frame);
void channel_close(launch_channel_t *channel);
/* A frame whose payload is one u32, and such a payload. */
int channel_send_number(launch_channel_t *channel, launch_frame_type_t type, uint32_t rank, uint32_t number);
uint32_t channel_number(const uint8_t *payload);

#endif
