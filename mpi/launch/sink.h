/* SPDX-License-Identifier: Apache-2.0
 * sink.h - stdout and stderr of mpiexec, each written by a thread of its own, so that whoever puts bytes never waits for who
 * reads them: a pipe that nobody empties, a terminal that Ctrl-S has stopped, a disk that does not answer. Where both are one
 * file (a terminal, 2>&1), they are one sink and keep the order of what was put.
 *
 * The flags of a descriptor belong to all who share its open file, a shell for one: a sink changes none of them. If somebody
 * else has made the file non-blocking, the thread waits until it takes more.
 *
 * S1 Every byte that was put is written in order, or sink_error says why not.
 * S2 One write holds whole lines, at most PIPE_BUF bytes of them, or one longer line: lines of several writers never mix.
 * S3 The memory of a sink is what was put and is not written yet; who puts much asks sink_is_full first.
 */
#ifndef VERBENA_LAUNCH_SINK_H
#define VERBENA_LAUNCH_SINK_H

#include <stddef.h>
#include <stdint.h>

#define SINK_FULL 262144 /* bytes that wait to be written; more only of few writers and short lines */

/* Starts the threads. Gives a descriptor that can be read when something was written or failed, or -1: there is no thread to be
 * had, and bytes are written by who puts them, as they are before this call. */
int sink_start(void);
/* In a child of this process: its stderr is another file, and it has no threads. */
void sink_leave(void);

/* target: STDOUT_FILENO or STDERR_FILENO; the number that its sink has, the same for both where they are one file. */
int sink_of(int target);
/* Copies the bytes; what finds no memory is lost, and an error. */
void sink_put(int target, const char *bytes, size_t length);
/* Bytes that are not written yet. */
size_t sink_waiting(int target);
int sink_is_full(int target);
/* The first error of a write: errno; 0: none. After EPIPE nothing is written any more; after others each write is tried. */
int sink_error(int target);
/* Grows with each byte that is written, by both. */
uint64_t sink_written(void);
/* Resets the descriptor of sink_start. */
void sink_look(void);

#endif
