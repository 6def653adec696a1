/* SPDX-License-Identifier: Apache-2.0
 * thread.h - reads by a thread, where the kernel refuses io_uring. */
#ifndef MC_SSD_THREAD_H
#define MC_SSD_THREAD_H

#include "ssd/pages.h"

/* The thread, which is there from the first call on. False: it cannot be started. */
bool thread_open(disk_t *disk);
void thread_close(disk_t *disk);
/* Has a record read; `finish` gets the bytes that came, negative: errno, on that thread. */
typedef void (*thread_finish_t)(disk_reader_t *reader, disk_read_t *read, ssize_t got);
void thread_read(disk_t *disk, disk_reader_t *reader, disk_read_t *read, thread_finish_t finish);

#endif
