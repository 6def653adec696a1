/* SPDX-License-Identifier: Apache-2.0
 * heap.c - a program whose large blocks come from mpi.heap=node (heaps.py runs it, with a word for the part). Each part works with
 * any malloc as well, but for what is said to lie in the heap.
 */
#define RULE_OWN_MAIN
#include "rule.h"

#include <dirent.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define LARGE (3 << 20)
#define COPY_LEAST 4096 /* bytes of copies that count */
#define MESSAGES 20
#define PATIENCE 120.0 /* seconds until peers have mapped each other's heaps */

static _Atomic int kernel_copies;

#define IN_FRONT __attribute__((visibility("default"))) /* of libc's function of this name, for all libraries */

/* The core copies out of private memory by this call. */
IN_FRONT ssize_t process_vm_readv(pid_t pid, const struct iovec *here, unsigned long mine, const struct iovec *there,
                                  unsigned long theirs, unsigned long flags)
{
    kernel_copies++;
    return syscall(SYS_process_vm_readv, pid, here, mine, there, theirs, flags);
}

static _Atomic size_t copied; /* bytes of large copies */

static void *(*volatile move)(void *, const void *, size_t) = memmove; /* the compiler does not make it memcpy */

IN_FRONT void *memcpy(void *restrict to, const void *restrict from, size_t bytes)
{
    copied += bytes >= COPY_LEAST ? bytes : 0;
    return move(to, from, bytes);
}

/* Mappings of heaps: this process's own is the only one that it may write. */
static int mappings(const void *address, int *others_p)
{
    char line[512], rights[8];
    int is_inside = 0;
    unsigned long start, end;
    FILE *maps = fopen("/proc/self/maps", "r");
    *others_p = 0;
    while (fgets(line, sizeof(line), maps) != NULL) {
        if (strstr(line, "memfd:verbena-heap") == NULL || sscanf(line, "%lx-%lx %7s", &start, &end, rights) != 3)
            continue;
        *others_p += rights[1] == '-';
        is_inside |= (uintptr_t)address >= start && (uintptr_t)address < end;
    }
    fclose(maps);
    return is_inside;
}

static int in_heap(const void *address)
{
    int others;
    return mappings(address, &others);
}

/* The kernel allocates all pages of a mapping that it writes to a core file. */
static int are_left_out_of_cores(void)
{
    char line[512];
    int is_heap = 0, are_out = 1;
    FILE *maps = fopen("/proc/self/smaps", "r");
    while (fgets(line, sizeof(line), maps) != NULL)
        if (strstr(line, "memfd:verbena-heap") != NULL)
            is_heap = 1;
        else if (is_heap && strncmp(line, "VmFlags:", 8) == 0) {
            are_out = are_out && strstr(line, " dd") != NULL;
            is_heap = 0;
        }
    fclose(maps);
    return are_out;
}

static void around(unsigned char *from, unsigned char *to, int bytes, int seed)
{
    const int left = (rank + size - 1) % size;
    fill(from, bytes, rank + seed);
    memset(to, 0, (size_t)bytes);
    MPI_Sendrecv(from, bytes, MPI_BYTE, (rank + 1) % size, 0, to, bytes, MPI_BYTE, left, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    CHECK(is_filled(to, bytes, left + seed));
}

/* From some message on no rank copies by the kernel, because it has mapped the heap of its neighbour. */
static void messages(void)
{
    unsigned char *from = malloc(LARGE), *to = malloc(LARGE);
    const double since = MPI_Wtime();
    int others = 0, copies = 1;
    CHECK(in_heap(from) && in_heap(to + LARGE - 1));
    for (int bytes = 1; bytes <= LARGE; bytes *= 3)
        around(from, to, bytes, bytes);
    while (copies > 0 || others == 0) {
        CHECK(MPI_Wtime() - since < PATIENCE);
        const int before = kernel_copies;
        for (int i = 0; i < MESSAGES; i++)
            around(from, to, 1 << 20, i);
        (void)mappings(from, &others);
        int mine[2] = {kernel_copies - before, -others}, worst[2];
        MPI_Allreduce(mine, worst, 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
        copies = worst[0];
        others = size > 1 ? -worst[1] : 1;
    }
    CHECK(are_left_out_of_cores());
    free(from);
    free(to);
}

static void collectives(void)
{
    const int count = LARGE / 4 / size * size;
    int *mine = malloc((size_t)count * 4), *all = calloc((size_t)count, 4);
    CHECK(in_heap(mine) && in_heap(all));
    for (int i = 0; i < count; i++) {
        CHECK(all[i] == 0);
        mine[i] = i + rank;
    }
    MPI_Allreduce(mine, all, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < count; i++)
        CHECK(all[i] == size * i + size * (size - 1) / 2);
    MPI_Bcast(mine, count, MPI_INT, size - 1, MPI_COMM_WORLD);
    MPI_Alltoall(mine, count / size, MPI_INT, all, count / size, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < count; i++)
        CHECK(mine[i] == i + size - 1 && all[i] == i % (count / size) + count / size * rank + size - 1);
    free(mine);
    free(all);
}

static double *private_memory(size_t bytes)
{
    return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/* What a reduction copies at this rank. */
static size_t copies_of_sum(const double *mine, double *sum, int count)
{
    const size_t before = copied;
    MPI_Allreduce(mine, sum, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return copied - before;
}

/* Operands are read where they lie: a rank copies its result, and nothing else. The bits are those of private data. */
static void reductions(void)
{
    const int count = (1 << 16) * size;
    const size_t bytes = (size_t)count * sizeof(double);
    double *mine = malloc(bytes), *sum = malloc(bytes);
    double *apart = private_memory(bytes), *expected = private_memory(bytes);
    int others;
    CHECK(in_heap(mine) && in_heap(sum) && !in_heap(apart) && !in_heap(expected));
    for (int i = 0; i < count; i++)
        mine[i] = apart[i] = (rank * 7919 + i % 1000 + 1) / 3.0 * (i % 2 == 0 ? 1e-9 : 1e9);
    const size_t most = copies_of_sum(apart, expected, count);
    (void)mappings(mine, &others);
    CHECK(others == size - 1);
    const size_t few = copies_of_sum(mine, sum, count);
    const size_t operands = bytes / (size_t)size * (size_t)(size - 1); /* but for a rank's own share */
    CHECK(few < most && most - few > operands - bytes / 100 && most - few < operands + bytes / 100);
    CHECK(memcmp(sum, expected, bytes) == 0);
    memset(sum, 0, bytes);
    (void)copies_of_sum(rank == 1 ? apart : mine, rank == 0 ? apart : sum, count); /* private ones at two ranks */
    CHECK(memcmp(rank == 0 ? apart : sum, expected, bytes) == 0);
    CHECK(copies_of_sum(MPI_IN_PLACE, mine, count) == few && memcmp(mine, expected, bytes) == 0);
    free(mine);
    free(sum);
}

/* A buffer that its owner frees while peers read it: its bytes are anything, and nobody dies. */
static void freed(void)
{
    const int bytes = 40 << 20;
    for (int i = 0; i < 4; i++) {
        unsigned char *to = malloc((size_t)bytes), *from = calloc((size_t)bytes, 1);
        MPI_Request requests[2];
        memset(from, 1, (size_t)bytes);
        MPI_Irecv(to, bytes, MPI_BYTE, (rank + size - 1) % size, 0, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(from, bytes, MPI_BYTE, (rank + 1) % size, 0, MPI_COMM_WORLD, &requests[1]);
        free(from); /* more than is kept: its pages go at once */
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        free(to);
    }
    unsigned char *from = malloc(LARGE), *to = malloc(LARGE);
    around(from, to, LARGE, 1);
    free(from);
    free(to);
}

/* A window on such memory is one of private memory. */
static void window(void)
{
    unsigned char *memory = malloc(LARGE), *got = malloc(LARGE);
    MPI_Win win;
    fill(memory, LARGE, rank);
    MPI_Win_create(memory, LARGE, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_fence(0, win);
    MPI_Get(got, LARGE, MPI_BYTE, (rank + 1) % size, 0, LARGE, MPI_BYTE, win);
    MPI_Win_fence(0, win);
    CHECK(is_filled(got, LARGE, (rank + 1) % size));
    MPI_Win_free(&win);
    free(memory);
    free(got);
}

static int child_of(void (*act)(unsigned char *block), unsigned char *block)
{
    int status;
    const pid_t child = fork();
    if (child == 0) {
        act(block);
        _exit(0);
    }
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

static void grandchild(unsigned char *block)
{
    free(block);
}

static void child(unsigned char *block)
{
    if (block[0] != 1 || block[LARGE - 1] != 2 || in_heap(block))
        _exit(1);
    memset(block, 9, LARGE); /* the parent does not see it */
    free(block);
    unsigned char *own = calloc(LARGE, 1);
    if (own == NULL || own[0] != 0 || own[LARGE - 1] != 0 || !child_of(grandchild, realloc(own, 2 * LARGE)))
        _exit(2);
}

static void idle(unsigned char *block)
{
    char byte;
    const int ends[2] = {block[1], block[2]};
    (void)close(ends[1]);
    while (read(ends[0], &byte, 1) == 1)
        ;
    if (block[0] != 7)
        _exit(1);
}

static unsigned char *handled; /* the handlers of fork() write to it */

static void before_fork(void)
{
    if (handled == NULL)
        return;
    free(malloc(LARGE)); /* handlers may */
    handled[1] = 3;
}

static void after_fork(void)
{
    if (handled != NULL)
        handled[2] = 4;
}

static void register_handlers(void)
{
    (void)pthread_atfork(before_fork, NULL, after_fork);
}

/* As the constructor of a library that the heap's own does not wait for: before main's, and before those of all libraries. */
__attribute__((section(".preinit_array"), used)) static void (*const first)(void) = register_handlers;

static void handled_child(unsigned char *block)
{
    if (block[0] != 1 || block[1] != 3 || block[2] != 4)
        _exit(1);
}

/* Also the handlers of the child work on its own copy. */
static void handlers(void)
{
    handled = calloc(LARGE, 1);
    CHECK(in_heap(handled));
    handled[0] = 1;
    CHECK(child_of(handled_child, handled) && handled[1] == 3 && handled[2] == 0);
    free(handled);
    handled = NULL;
}

/* Neither of the two sees what the other one writes after fork(). */
static void forks(void)
{
    int ends[2], status;
    unsigned char *block = malloc(LARGE);
    CHECK(in_heap(block));
    block[0] = 1;
    block[LARGE - 1] = 2;
    CHECK(child_of(child, block) && block[0] == 1 && block[LARGE - 1] == 2);
    CHECK(pipe(ends) == 0);
    block[0] = 7;
    block[1] = (unsigned char)ends[0];
    block[2] = (unsigned char)ends[1];
    const pid_t one = fork();
    if (one == 0) {
        idle(block);
        _exit(0);
    }
    block[0] = 8;
    (void)close(ends[1]);
    CHECK(one > 0 && waitpid(one, &status, 0) == one && status == 0);
    (void)close(ends[0]);
    CHECK(system("exit 3") >> 8 == 3);
    free(block);
    handlers();
}

/* Blocks on either side of the limit keep their bytes, whatever other threads do. */
typedef struct held {
    unsigned char *block;
    size_t bytes;
} held_t;

static void change(held_t *held, unsigned random, int seed)
{
    const size_t bytes = (random >> 4 & 0x3ffff) + (random % 97 == 0 ? LARGE : 1);
    if (held->block != NULL && random % 3 == 0) {
        const size_t least = bytes < held->bytes ? bytes : held->bytes;
        held->block = realloc(held->block, bytes);
        CHECK(held->block != NULL && is_filled(held->block, (int)least, seed));
    } else {
        free(held->block);
        void *aligned = NULL;
        switch (random % 5) {
        case 0:
            held->block = calloc(1, bytes);
            CHECK(held->block[0] == 0 && held->block[bytes / 2] == 0 && held->block[bytes - 1] == 0);
            break;
        case 1:
            CHECK(posix_memalign(&aligned, 1024, bytes) == 0 && (uintptr_t)aligned % 1024 == 0);
            held->block = aligned;
            break;
        case 2: held->block = aligned_alloc(64, (bytes + 63) / 64 * 64); break;
        case 3: held->block = memalign(1 << 16, bytes); break;
        default: held->block = malloc(bytes);
        }
    }
    held->bytes = bytes;
    CHECK(malloc_usable_size(held->block) >= bytes);
    fill(held->block, (int)bytes, seed);
}

static void *allocate(void *arg)
{
    const int seed = (int)(intptr_t)arg;
    unsigned random = (unsigned)seed + 1;
    held_t held[8] = {{0}};
    for (int i = 0; i < 300; i++) {
        random = random * 1103515245u + 12345u;
        const unsigned at = random >> 28 & 7;
        CHECK(held[at].block == NULL || is_filled(held[at].block, (int)held[at].bytes, seed * 8 + (int)at));
        change(&held[at], random >> 8, seed * 8 + (int)at);
        if (i % 100 == 50)
            CHECK(system("true") == 0);
    }
    for (int at = 0; at < 8; at++)
        free(held[at].block);
    return NULL;
}

static void threads(void)
{
    pthread_t all[8];
    for (intptr_t i = 0; i < 8; i++)
        CHECK(pthread_create(&all[i], NULL, allocate, (void *)i) == 0);
    for (int i = 0; i < 8; i++)
        pthread_join(all[i], NULL);
    volatile size_t much = SIZE_MAX / 2;
    errno = 0;
    CHECK(malloc(much) == NULL && errno == ENOMEM);
    CHECK(calloc(much, 3) == NULL && reallocarray(NULL, much, 3) == NULL);
    unsigned char *block = malloc(LARGE);
    CHECK(realloc(block, 0) == NULL); /* it is free */
}

/* KiB of shared memory that are in use by this process. */
static long resident(void)
{
    char line[256];
    long kib = -1;
    FILE *status = fopen("/proc/self/status", "r");
    while (fgets(line, sizeof(line), status) != NULL)
        (void)sscanf(line, "RssShmem: %ld kB", &kib);
    fclose(status);
    return kib;
}

static void returns(void)
{
    unsigned char *blocks[8];
    for (int i = 0; i < 8; i++)
        memset(blocks[i] = malloc(32 << 20), 1, 32 << 20);
    CHECK(in_heap(blocks[7]) && resident() >= 8 * (32 << 10));
    for (int i = 0; i < 8; i++)
        free(blocks[i]);
    CHECK(resident() < 2 * (32 << 10));
    unsigned char *again = calloc(64 << 20, 1);
    for (int i = 0; i < 64 << 20; i += 4096)
        CHECK(again[i] == 0);
    free(again);
}

/* The program's own, as it may believe: before the library is there. */
static void close_descriptor(void)
{
    char name[64], target[64];
    DIR *all = opendir("/proc/self/fd");
    for (const struct dirent *one; (one = readdir(all)) != NULL;) {
        (void)snprintf(name, sizeof(name), "/proc/self/fd/%.20s", one->d_name);
        const ssize_t length = readlink(name, target, sizeof(target) - 1);
        target[length > 0 ? length : 0] = 0;
        if (strstr(target, "memfd:verbena-heap") != NULL)
            close(atoi(one->d_name));
    }
    closedir(all);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*test)(void);
    } parts[] = {
        {"messages", messages}, {"collectives", collectives}, {"freed", freed},     {"window", window},
        {"forks", forks},       {"threads", threads},         {"returns", returns}, {"reductions", reductions}};
    unsigned char *early = malloc(LARGE);
    memset(early, 5, LARGE);
    if (argc > 2 && strcmp(argv[2], "early") == 0) /* before the library is there */
        forks();
    if (argc > 2 && strcmp(argv[2], "closed") == 0)
        close_descriptor();
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        if (argc > 1 && strcmp(argv[1], parts[i].name) == 0)
            parts[i].test();
    MPI_Finalize();
    for (int i = 0; i < LARGE; i++)
        if (early[i] != 5)
            return 1;
    free(early);
    return 0;
}
