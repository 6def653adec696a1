/* SPDX-License-Identifier: Apache-2.0
 * uring.c - io_uring: two rings in memory that the kernel shares, one of requests and one of results. */
#include "ssd/uring.h"

#include <errno.h>
#include <linux/io_uring.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/atomics.h"

typedef struct ring {
    char *address;
    size_t bytes;
    _Atomic uint32_t *head, *tail;
    uint32_t mask;
} ring_t;

struct uring {
    int fd;
    ring_t requests, results;
    uint32_t *order; /* of requests: which entry */
    struct io_uring_sqe *entries;
    size_t entries_bytes;
    struct io_uring_cqe *done;
    unsigned prepared;
};

static void *map(int fd, size_t bytes, uint64_t what)
{
    void *address = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, (off_t)what);
    return address == MAP_FAILED ? NULL : address;
}

static void find_ring(ring_t *ring, uint32_t head, uint32_t tail, uint32_t mask)
{
    ring->head = (_Atomic uint32_t *)(void *)(ring->address + head);
    ring->tail = (_Atomic uint32_t *)(void *)(ring->address + tail);
    ring->mask = *(uint32_t *)(void *)(ring->address + mask);
}

static bool map_rings(uring_t *uring, const struct io_uring_params *params)
{
    uring->requests.bytes = params->sq_off.array + params->sq_entries * sizeof(uint32_t);
    uring->results.bytes = params->cq_off.cqes + params->cq_entries * sizeof(struct io_uring_cqe);
    uring->entries_bytes = params->sq_entries * sizeof(struct io_uring_sqe);
    uring->requests.address = map(uring->fd, uring->requests.bytes, IORING_OFF_SQ_RING);
    uring->results.address = map(uring->fd, uring->results.bytes, IORING_OFF_CQ_RING);
    uring->entries = map(uring->fd, uring->entries_bytes, IORING_OFF_SQES);
    if (uring->requests.address == NULL || uring->results.address == NULL || uring->entries == NULL)
        return false;
    find_ring(&uring->requests, params->sq_off.head, params->sq_off.tail, params->sq_off.ring_mask);
    find_ring(&uring->results, params->cq_off.head, params->cq_off.tail, params->cq_off.ring_mask);
    uring->order = (uint32_t *)(void *)(uring->requests.address + params->sq_off.array);
    uring->done = (struct io_uring_cqe *)(void *)(uring->results.address + params->cq_off.cqes);
    return true;
}

/* Kernels before 5.6 have rings and no such reads. */
static bool reads(int fd)
{
    _Alignas(struct io_uring_probe) char
        room[sizeof(struct io_uring_probe) + (IORING_OP_READ + 1) * sizeof(struct io_uring_probe_op)];
    const struct io_uring_probe *known = (struct io_uring_probe *)(void *)room;
    memset(room, 0, sizeof(room));
    return syscall(SYS_io_uring_register, fd, IORING_REGISTER_PROBE, room, IORING_OP_READ + 1) == 0 &&
           known->last_op >= IORING_OP_READ && (known->ops[IORING_OP_READ].flags & IO_URING_OP_SUPPORTED) != 0;
}

uring_t *uring_open(unsigned entries, int event)
{
    struct io_uring_params params = {.flags = 0};
    uring_t *uring = calloc(1, sizeof(*uring));
    if (uring == NULL)
        return NULL;
    uring->fd = (int)syscall(SYS_io_uring_setup, entries, &params);
    if (uring->fd >= 0 && reads(uring->fd) && map_rings(uring, &params) &&
        syscall(SYS_io_uring_register, uring->fd, IORING_REGISTER_EVENTFD, &event, 1) == 0)
        return uring;
    int error = errno;
    uring_close(uring);
    errno = error;
    return NULL;
}

void uring_close(uring_t *uring)
{
    if (uring == NULL)
        return;
    if (uring->entries != NULL)
        (void)munmap(uring->entries, uring->entries_bytes);
    if (uring->results.address != NULL)
        (void)munmap(uring->results.address, uring->results.bytes);
    if (uring->requests.address != NULL)
        (void)munmap(uring->requests.address, uring->requests.bytes);
    if (uring->fd >= 0)
        (void)close(uring->fd);
    free(uring);
}

void uring_read(uring_t *uring, int fd, void *to, uint32_t bytes, uint64_t at, void *owner)
{
    uint32_t tail = atomic_get_relaxed(uring->requests.tail), slot = tail & uring->requests.mask;
    uring->entries[slot] = (struct io_uring_sqe){.opcode = IORING_OP_READ,
                                                 .fd = fd,
                                                 .addr = (uintptr_t)to,
                                                 .len = bytes,
                                                 .off = at,
                                                 .user_data = (uintptr_t)owner};
    uring->order[slot] = slot;
    atomic_set_release(uring->requests.tail, tail + 1); /* pairs with the kernel's acquire */
    uring->prepared++;
}

bool uring_submit(uring_t *uring, unsigned least)
{
    while (uring->prepared > 0 || least > 0) {
        long taken = syscall(SYS_io_uring_enter, uring->fd, uring->prepared, least,
                             least > 0 ? IORING_ENTER_GETEVENTS : 0, NULL, 0);
        if (taken < 0 && errno == EINTR)
            continue;
        if (taken < 0)
            return false;
        uring->prepared -= (unsigned)taken;
        least = 0;
    }
    return true;
}

bool uring_next(uring_t *uring, void **owner_p, int32_t *result_p)
{
    uint32_t head = atomic_get_relaxed(uring->results.head);
    if (head == atomic_get_acquire(uring->results.tail)) /* pairs with the kernel's release */
        return false;
    const struct io_uring_cqe *done = &uring->done[head & uring->results.mask];
    *owner_p = (void *)(uintptr_t)done->user_data;
    *result_p = done->res;
    atomic_set_release(uring->results.head, head + 1); /* the kernel may use the entry again */
    return true;
}
