/* SPDX-License-Identifier: Apache-2.0
 * threads.h - reads by threads, where the kernel refuses io_uring. */
#ifndef MC_SSD_THREADS_H
#define MC_SSD_THREADS_H

#include "ssd/pages.h"

/* The threads, which are there from the first call on. Returns how many there are; 0: none can be started. */
unsigned threads_open(disk_t *disk);
void threads_close(disk_t *disk);
/* Has a record read; `finish` gets the bytes that came, negative: errno, on one of those threads. */
typedef void (*threads_finish_t)(disk_reader_t *reader, disk_read_t *read, ssize_t got);
void threads_read(disk_t *disk, disk_reader_t *reader, disk_read_t *read, threads_finish_t finish);

#endif
