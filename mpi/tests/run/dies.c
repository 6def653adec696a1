/* SPDX-License-Identifier: Apache-2.0
 * dies.c - not a rule: a job of which rank 1 ends in the middle, for run.py. usage: dies WAY CALL [inter]; WAY: see end();
 * CALL: the name of a collective in one of its forms, or receive. inter: between the even and the odd ranks.
 * inside, unseen: rank 1 is killed by a timer while it does nothing but this collective. unseen: mpiexec does not see that, and
 * each of the others says so when the collective has ended with an error; it goes on calling. stays: the same, where a process that
 * mpiexec has started stays.
 * more, less: nobody is killed, but from some call on rank 1 has other counts than the others, first more or first less of them.
 */
#include <mpi.h>

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "stand_in.h"

#define MOST 20000 /* elements of a block: by rendezvous */
#define RANKS 4    /* at most */

typedef enum form { BLOCKING, STARTED, KEPT } form_t;

static MPI_Comm comm;
static MPI_Comm grid; /* for those with neighbours */
static MPI_Request request;
static int size;
static int n; /* elements of a block */
static int root;
static int *out; /* 2 * RANKS * MOST each; of malloc, which may be in memory that ranks map */
static int *in;
static int counts[2 * RANKS]; /* n each */
static int displs[2 * RANKS];
static MPI_Aint gaps[2 * RANKS]; /* displs in bytes */
static int bytes[2 * RANKS];
static MPI_Datatype types[2 * RANKS];

/* F(name, name after I, arguments) for each collective. */
#define EACH_COLLECTIVE(F)                                                                                             \
    F(Barrier, barrier, comm)                                                                                          \
    F(Bcast, bcast, in, n, MPI_INT, root, comm)                                                                        \
    F(Gather, gather, out, n, MPI_INT, in, n, MPI_INT, root, comm)                                                     \
    F(Gatherv, gatherv, out, n, MPI_INT, in, counts, displs, MPI_INT, root, comm)                                      \
    F(Scatter, scatter, out, n, MPI_INT, in, n, MPI_INT, root, comm)                                                   \
    F(Scatterv, scatterv, out, counts, displs, MPI_INT, in, n, MPI_INT, root, comm)                                    \
    F(Allgather, allgather, out, n, MPI_INT, in, n, MPI_INT, comm)                                                     \
    F(Allgatherv, allgatherv, out, n, MPI_INT, in, counts, displs, MPI_INT, comm)                                      \
    F(Alltoall, alltoall, out, n, MPI_INT, in, n, MPI_INT, comm)                                                       \
    F(Alltoallv, alltoallv, out, counts, displs, MPI_INT, in, counts, displs, MPI_INT, comm)                           \
    F(Alltoallw, alltoallw, out, counts, bytes, types, in, counts, bytes, types, comm)                                 \
    F(Reduce, reduce, out, in, n, MPI_INT, MPI_SUM, root, comm)                                                        \
    F(Allreduce, allreduce, out, in, n, MPI_INT, MPI_SUM, comm)                                                        \
    F(Reduce_scatter, reduce_scatter, out, in, counts, MPI_INT, MPI_SUM, comm)                                         \
    F(Reduce_scatter_block, reduce_scatter_block, out, in, n, MPI_INT, MPI_SUM, comm)                                  \
    F(Scan, scan, out, in, n, MPI_INT, MPI_SUM, comm)                                                                  \
    F(Exscan, exscan, out, in, n, MPI_INT, MPI_SUM, comm)                                                              \
    F(Neighbor_allgather, neighbor_allgather, out, n, MPI_INT, in, n, MPI_INT, grid)                                   \
    F(Neighbor_allgatherv, neighbor_allgatherv, out, n, MPI_INT, in, counts, displs, MPI_INT, grid)                    \
    F(Neighbor_alltoall, neighbor_alltoall, out, n, MPI_INT, in, n, MPI_INT, grid)                                     \
    F(Neighbor_alltoallv, neighbor_alltoallv, out, counts, displs, MPI_INT, in, counts, displs, MPI_INT, grid)         \
    F(Neighbor_alltoallw, neighbor_alltoallw, out, counts, gaps, types, in, counts, gaps, types, grid)

#define FUNCTION(NAME, INAME, ...)                                                                                     \
    static int call_##NAME(form_t form)                                                                                \
    {                                                                                                                  \
        if (form == BLOCKING)                                                                                          \
            return MPI_##NAME(__VA_ARGS__);                                                                            \
        if (form == STARTED)                                                                                           \
            return MPI_I##INAME(__VA_ARGS__, &request);                                                                \
        const int rc = MPI_##NAME##_init(__VA_ARGS__, MPI_INFO_NULL, &request);                                        \
        return rc != MPI_SUCCESS ? rc : MPI_Start(&request);                                                           \
    }
EACH_COLLECTIVE(FUNCTION)

typedef struct entry {
    const char *name;
    form_t form;
    int (*call)(form_t form);
} entry_t;

#define ENTRIES(NAME, INAME, ...)                                                                                      \
    {#NAME, BLOCKING, call_##NAME}, {"I" #INAME, STARTED, call_##NAME}, {#NAME "_init", KEPT, call_##NAME},
static const entry_t entries[] = {EACH_COLLECTIVE(ENTRIES)};

static void list(void)
{
    for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++)
        puts(entries[i].name);
}

static const entry_t *find(const char *name)
{
    for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++)
        if (strcmp(entries[i].name, name) == 0)
            return &entries[i];
    fprintf(stderr, "dies: %s is no collective\n", name);
    MPI_Abort(MPI_COMM_WORLD, 99);
    return NULL;
}

static void kill_itself(int number)
{
    (void)number;
    raise(SIGKILL);
}

/* By a timer: it returns, and this rank ends soon. */
static void end(const char *way)
{
    const struct itimerval soon = {.it_value.tv_usec = 200};
    if (strcmp(way, "inside") == 0 || strcmp(way, "unseen") == 0 || strcmp(way, "stays") == 0) {
        signal(SIGALRM, kill_itself);
        setitimer(ITIMER_REAL, &soon, NULL);
        return;
    }
    if (strcmp(way, "kill") == 0)
        raise(SIGKILL);
    if (strcmp(way, "segv") == 0) {
        signal(SIGSEGV, SIG_DFL); /* sanitizers have a handler */
        raise(SIGSEGV);
    }
    if (strcmp(way, "exit") == 0)
        _exit(3);
    if (strcmp(way, "leave") == 0)
        _exit(0);
    MPI_Abort(MPI_COMM_WORLD, 7);
}

static void receive(const char *way, int rank)
{
    const int other = (rank ^ 1) < size ? rank ^ 1 : MPI_PROC_NULL;
    for (int i = 0; i < 100; i++)
        MPI_Sendrecv(out, 1, MPI_INT, other, 0, in, 1, MPI_INT, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1)
        end(way);
    MPI_Recv(in, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void set_up(int rank, int inter)
{
    const int periodic = 1;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &grid);
    for (int i = 0; i < 2 * RANKS; i++) {
        displs[i] = i * MOST;
        bytes[i] = i * MOST * (int)sizeof(int);
        gaps[i] = bytes[i];
        types[i] = MPI_INT;
    }
    comm = MPI_COMM_WORLD;
    if (inter) {
        MPI_Comm half;
        MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
        MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 0, &comm);
    }
}

/* How large the one is that stands for this call, and where the root of the i-th is. */
static void choose(int i, int of, int rank, int inter)
{
    n = of % 2 == 0 ? 1 : MOST;
    for (int place = 0; place < 2 * RANKS; place++)
        counts[place] = n;
    root = i % size;
    if (inter)
        root = rank % 2 == 1 ? 0 : rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
}

static void say(int rank)
{
    static int said;
    if (!said)
        printf("rank %d: an error\n", rank);
    fflush(stdout);
    said = 1;
}

/* From this call on rank 1 has the counts of the next one. */
static int differs_from(const char *way)
{
    return strcmp(way, "more") == 0 ? 40 : strcmp(way, "less") == 0 ? 41 : INT_MAX;
}

static void loop(const entry_t *entry, const char *way, int rank, int inter)
{
    const int differs = differs_from(way);
    for (int i = 0;; i++) {
        if (i == 40 && rank == 1 && differs == INT_MAX && entry->form == BLOCKING)
            end(way);
        choose(i, i + (rank == 1 && i >= differs), rank, inter);
        request = MPI_REQUEST_NULL;
        int rc = entry->call(entry->form);
        if (i == 40 && rank == 1 && differs == INT_MAX)
            end(way);
        if (entry->form != BLOCKING && rc == MPI_SUCCESS)
            rc = MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (request != MPI_REQUEST_NULL)
            MPI_Request_free(&request);
        if (rc != MPI_SUCCESS)
            say(rank);
    }
}

int main(int argc, char **argv)
{
    int rank;
    if (argc == 2 && strcmp(argv[1], "list") == 0) {
        list();
        return 0;
    }
    const int stays = argc > 2 && strcmp(argv[1], "stays") == 0;
    const int unseen = stays || (argc > 2 && strcmp(argv[1], "unseen") == 0);
    if (unseen && !stays)
        stand_in();
    out = calloc(2 * RANKS * MOST, sizeof(*out));
    in = calloc(2 * RANKS * MOST, sizeof(*in));
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (strcmp(argv[2], "receive") == 0)
        receive(argv[1], rank);
    set_up(rank, argc > 3);
    if (unseen) {
        MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
        MPI_Comm_set_errhandler(grid, MPI_ERRORS_RETURN);
        MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN); /* of requests without a communicator */
    }
    loop(find(argv[2]), argv[1], rank, argc > 3);
}
