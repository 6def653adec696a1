/* SPDX-License-Identifier: Apache-2.0
 * types_holes.c - what lies between the elements of a datatype is neither read nor written: there may be no memory.
 * ranks: 2
 */
#include "rule.h"

#include <sys/mman.h>
#include <unistd.h>

static char *memory; /* three pages, the middle one cannot be touched */
static long page;
static MPI_Datatype type; /* an int on the first page and one on the last */

static int *first(void)
{
    return (int *)memory;
}

static int *second(void)
{
    return (int *)(memory + 2 * page);
}

static void set(int value)
{
    *first() = value;
    *second() = value + 1;
}

static int is(int value)
{
    return *first() == value && *second() == value + 1;
}

static void messages(void)
{
    if (rank == 0) {
        MPI_Send(memory, 1, type, 1, 1, MPI_COMM_WORLD);
        MPI_Bsend(memory, 1, type, 1, 1, MPI_COMM_WORLD);
        MPI_Ssend(memory, 1, type, 1, 1, MPI_COMM_WORLD);
        return;
    }
    for (int i = 0; i < 3; i++) {
        set(-1);
        MPI_Recv(memory, 1, type, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(is(10));
    }
}

static void exchanges(void)
{
    MPI_Request request;
    set(20 + rank);
    MPI_Sendrecv_replace(memory, 1, type, !rank, 2, !rank, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(is(20 + !rank));
    MPI_Isendrecv_replace(memory, 1, type, !rank, 3, !rank, 3, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(is(20 + rank));
}

static void collectives(void)
{
    int all[4];
    set(30 * (1 - rank));
    MPI_Bcast(memory, 1, type, 0, MPI_COMM_WORLD);
    CHECK(is(30));
    set(40 + 2 * rank);
    MPI_Allgather(memory, 1, type, all, 2, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < 4; i++)
        CHECK(all[i] == 40 + i);
}

static void test(void)
{
    char buffer[3 * MPI_BSEND_OVERHEAD];
    char packed[8];
    int position = 0;
    page = sysconf(_SC_PAGESIZE);
    memory = mmap(NULL, (size_t)page * 3, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED && mprotect(memory + page, (size_t)page, PROT_NONE) == 0);
    MPI_Type_create_hindexed_block(2, 1, (const MPI_Aint[]){0, 2 * page}, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_Buffer_attach(buffer, sizeof(buffer));
    set(10);
    messages();
    exchanges();
    collectives();
    MPI_Pack(memory, 1, type, packed, sizeof(packed), &position, MPI_COMM_WORLD);
    set(0);
    position = 0;
    MPI_Unpack(packed, sizeof(packed), &position, memory, 1, type, MPI_COMM_WORLD);
    CHECK(is(40 + 2 * rank));
    MPI_Buffer_detach(&(void *){NULL}, &(int){0});
    MPI_Type_free(&type);
    munmap(memory, (size_t)page * 3);
}
