/* SPDX-License-Identifier: Apache-2.0
 * alloc_mem.c - MPI_Alloc_mem and MPI_Free_mem (9.2): blocks in memory that the node's ranks share, used by messages and by several
 * threads; wrong sizes and addresses; a block that the program still has after MPI_Finalize.
 * ranks: 1 2 4 tcp
 */
#define RULE_OWN_MAIN
#include "rule.h"

#include <pthread.h>
#include <stdint.h>

#define THREADS 4
#define ROUNDS 200
#define LARGE (3 << 20)

static unsigned char *take(MPI_Aint bytes)
{
    unsigned char *memory = NULL;
    CHECK(MPI_Alloc_mem(bytes, MPI_INFO_NULL, &memory) == MPI_SUCCESS && memory != NULL);
    CHECK((uintptr_t)memory % 64 == 0);
    return memory;
}

/* Whether it lies in a mapping of this name. */
static int is_in(const void *address, const char *name)
{
    char line[512];
    int found = 0;
    unsigned long start;
    unsigned long end;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof(line), maps) != NULL)
        if (sscanf(line, "%lx-%lx", &start, &end) == 2 && (uintptr_t)address >= start && (uintptr_t)address < end)
            found = strstr(line, name) != NULL;
    fclose(maps);
    return found;
}

/* Right around all ranks, from such memory to such memory. */
static void messages(void)
{
    unsigned char *from = take(LARGE);
    unsigned char *to = take(LARGE);
    CHECK(is_in(from, "memfd:vbn-mem") && is_in(to + LARGE - 1, "memfd:vbn-mem"));
    for (int bytes = 1; bytes <= LARGE; bytes *= 3) {
        fill(from, bytes, rank);
        MPI_Sendrecv(from, bytes, MPI_BYTE, (rank + 1) % size, 0, to, bytes, MPI_BYTE, (rank + size - 1) % size, 0,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(is_filled(to, bytes, (rank + size - 1) % size));
    }
    MPI_Free_mem(from);
    MPI_Free_mem(to);
}

/* Its own blocks keep its own bytes, whatever others allocate and free. */
static void *allocate_and_free(void *seed)
{
    unsigned random = (unsigned)(uintptr_t)seed + 1;
    unsigned char *held[8] = {0};
    int lengths[8];
    for (int i = 0; i < ROUNDS; i++) {
        random = random * 1103515245u + 12345u;
        const unsigned at = random >> 16 & 7;
        if (held[at] != NULL) {
            CHECK(is_filled(held[at], lengths[at], (int)at + (int)(uintptr_t)seed));
            CHECK(MPI_Free_mem(held[at]) == MPI_SUCCESS);
        }
        lengths[at] = (int)(random >> 8 & 0x3fff) + (i % 50 == 0 ? LARGE : 0);
        held[at] = take(lengths[at]);
        fill(held[at], lengths[at], (int)at + (int)(uintptr_t)seed);
    }
    for (int at = 0; at < 8; at++)
        MPI_Free_mem(held[at]);
    return NULL;
}

static void threads(void)
{
    pthread_t all[THREADS];
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&all[i], NULL, allocate_and_free, (void *)(uintptr_t)i) == 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(all[i], NULL);
}

static void wrong_arguments(void)
{
    char text[MPI_MAX_ERROR_STRING];
    int length;
    int code;
    unsigned char *block = take(0);
    unsigned char *other = take(0);
    void *memory = NULL;
    CHECK(block != other); /* of no bytes, and yet two */
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    code = MPI_Alloc_mem((MPI_Aint)1 << 55, MPI_INFO_NULL, &memory);
    CHECK(class_of(code) == MPI_ERR_NO_MEM && memory == NULL);
    MPI_Error_string(code, text, &length);
    CHECK(strstr(text, "36028797018963968 bytes do not fit") != NULL);
    CHECK(class_of(MPI_Alloc_mem(-1, MPI_INFO_NULL, &memory)) == MPI_ERR_SIZE);
    CHECK(class_of(MPI_Free_mem(block + 1)) == MPI_ERR_BASE);
    CHECK(class_of(MPI_Free_mem(&code)) == MPI_ERR_BASE);
    CHECK(MPI_Free_mem(block) == MPI_SUCCESS && class_of(MPI_Free_mem(block)) == MPI_ERR_BASE);
    CHECK(MPI_Free_mem(other) == MPI_SUCCESS && MPI_Free_mem(NULL) == MPI_SUCCESS);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(provided == MPI_THREAD_MULTIPLE);
    unsigned char *kept = take(100000);
    fill(kept, 100000, rank);
    messages();
    threads();
    wrong_arguments();
    MPI_Finalize();
    return is_filled(kept, 100000, rank) ? 0 : 1;
}
