/* SPDX-License-Identifier: Apache-2.0
 * uring.h - reads by the kernel's io_uring, for one thread. The three system calls are made directly: no library is needed. */
#ifndef MC_SSD_URING_H
#define MC_SSD_URING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct uring uring_t;

/* event: an eventfd, which the kernel writes when a read ends. NULL: errno says why there is none. */
uring_t *uring_open(unsigned entries, int event);
void uring_close(uring_t *uring);
/* Prepares a read. At most `entries` may be under way. */
void uring_read(uring_t *uring, int fd, void *to, uint32_t bytes, uint64_t at, void *owner);
/* Gives what was prepared to the kernel; least: returns when so many are done. False: errno says why. */
bool uring_submit(uring_t *uring, unsigned least);
/* One that is done: bytes, or negative errno. False: there is none. */
bool uring_next(uring_t *uring, void **owner_p, int32_t *result_p);

#endif
