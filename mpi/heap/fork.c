/* SPDX-License-Identifier: Apache-2.0
 * fork.c - a child of fork() gets a copy of the heap (H4): the kernel would let it share the memory. The thread that forks waits
 * meanwhile, and so does each that allocates. Other threads run: where they write, the copy has old and new bytes. A lock that a
 * handler of fork() takes keeps them away, for prepare runs behind that handler. vfork() and posix_spawn() do not come here: no
 * bytes are copied for their children, which only execute another program.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include "heap/heap.h"

static int ends[2] = {-1, -1}; /* the child closes the second one when it has its copy; guarded by the heap's mutex */

static int is_shared(void)
{
    const heap_memory_t *memory = heap_mapped();
    return memory != NULL && memory->fd >= 0;
}

static void prepare(void)
{
    heap_lock();
    if (is_shared() && pipe2(ends, O_CLOEXEC) != 0)
        heap_say("fork() needs two descriptors to wait for its child's copy of the heap, and does not wait",
                 "raise ulimit -n");
}

static void in_parent(void)
{
    char none;
    const int error = errno; /* of fork() */
    if (ends[0] >= 0) {
        (void)close(ends[1]);
        while (read(ends[0], &none, 1) < 0 && errno == EINTR)
            ;
        (void)close(ends[0]);
        ends[0] = ends[1] = -1;
    }
    heap_unlock();
    errno = error;
}

static void in_child(void)
{
    if (is_shared())
        heap_copy(heap_mapped(), heap_blocks());
    if (ends[0] >= 0) {
        (void)close(ends[0]);
        (void)close(ends[1]);
        ends[0] = ends[1] = -1;
    }
    heap_unlock();
}

/* Runs before all other constructors (-z initfirst): so prepare runs after all other handlers, while this memory can be used, and
 * the child has its copy before any other handler of it writes, and before one of the parent gives a lock away. */
__attribute__((constructor)) static void begin(void)
{
    (void)pthread_atfork(prepare, in_parent, in_child);
}
