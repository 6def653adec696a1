/* SPDX-License-Identifier: Apache-2.0
 * MPI and OpenSHMEM in one program: initialised and finalised in any order, OpenSHMEM several times, each usable as long as it
 * is open; PE = rank. Arguments: who is first (mpi, shmem), who ends first, how often OpenSHMEM is initialised, and how MPI is
 * (world: MPI_Init; session: MPI_Session_init and a communicator of mpi://WORLD): run.py gives all of them.
 */
#define RULE_OWN_MAIN
#include <mpi.h>

#include "rule.h"

static long box;
static int value;
static MPI_Session session = MPI_SESSION_NULL;
static MPI_Comm world = MPI_COMM_NULL;

static void begin_mpi(int by_session)
{
    MPI_Group group;
    if (!by_session) {
        MPI_Init(NULL, NULL);
        world = MPI_COMM_WORLD;
        return;
    }
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "hybrid", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &world);
    MPI_Group_free(&group);
}

static void end_mpi(int by_session)
{
    if (!by_session) {
        MPI_Finalize();
        return;
    }
    MPI_Comm_disconnect(&world);
    MPI_Session_finalize(&session);
}

static void use_mpi(void)
{
    int rank, ranks, sum;
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &ranks);
    value = rank;
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, world);
    const int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
    MPI_Sendrecv(&rank, 1, MPI_INT, next, 3, &value, 1, MPI_INT, before, 3, world, MPI_STATUS_IGNORE);
    if (sum != ranks * (ranks - 1) / 2 || value != before)
        MPI_Abort(world, 1);
}

static void use_shmem(void)
{
    me = shmem_my_pe();
    size = shmem_n_pes();
    long *block = shmem_malloc(1000 * sizeof(long));
    CHECK(block != NULL);
    shmem_long_p(&block[999], 10 + me, (me + 1) % size);
    shmem_long_p(&box, 20 + me, (me + 1) % size);
    shmem_barrier_all();
    CHECK(block[999] == 10 + (me + size - 1) % size && box == 20 + (me + size - 1) % size);
    CHECK(shmem_long_atomic_fetch(&box, (me + 1) % size) == 20 + me);
    shmem_free(block);
}

/* The symmetric heap as a buffer of messages. */
static void use_both(void)
{
    int rank, ranks;
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &ranks);
    CHECK(rank == shmem_my_pe() && ranks == shmem_n_pes());
    unsigned char *out = shmem_malloc(1 << 20);
    unsigned char *in = shmem_malloc(1 << 20);
    fill(out, 1 << 20, rank);
    MPI_Sendrecv(out, 1 << 20, MPI_BYTE, (rank + 1) % ranks, 1, in, 1 << 20, MPI_BYTE, (rank + ranks - 1) % ranks, 1,
                 world, MPI_STATUS_IGNORE);
    CHECK(is_filled(in, 1 << 20, (rank + ranks - 1) % ranks));
    MPI_Barrier(world);
    shmem_putmem(in, out, 1 << 20, (rank + 1) % ranks);
    shmem_barrier_all();
    CHECK(is_filled(in, 1 << 20, (rank + ranks - 1) % ranks));
    shmem_free(in);
    shmem_free(out);
}

static void shmem_all(int times)
{
    for (int i = 1; i < times; i++) {
        shmem_init();
        use_shmem();
        shmem_finalize();
    }
    shmem_init();
    use_shmem();
}

int main(int argc, char **argv)
{
    if (argc != 5)
        return 2;
    const int by_session = strcmp(argv[4], "session") == 0;
    const int mpi_first = strcmp(argv[1], "mpi") == 0;
    const int times = atoi(argv[3]);
    if (mpi_first) {
        begin_mpi(by_session);
        use_mpi();
    }
    shmem_all(times);
    if (!mpi_first)
        begin_mpi(by_session);
    use_mpi();
    use_shmem();
    use_both();
    if (strcmp(argv[2], "mpi") == 0) {
        end_mpi(by_session);
        use_shmem();
        shmem_finalize();
    } else {
        shmem_finalize();
        use_mpi();
        end_mpi(by_session);
    }
    return 0;
}
