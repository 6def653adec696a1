/* SPDX-License-Identifier: Apache-2.0
 * intercomm.c - intercommunicators: ranks name the remote group, locally things are as before; merge, dup, create, split.
 * ranks: 2 3 4 5 tcp
 */
#include "rule.h"

static MPI_Comm local;
static int side;   /* 0: the lower half of the job, 1: the upper */
static int mine;   /* size of my side */
static int theirs; /* size of the other */
static int me;     /* my rank on my side */

static int world_of(int which, int of_side)
{
    return of_side == 0 ? which : size / 2 + which;
}

static MPI_Comm make(int leader)
{
    MPI_Comm inter;
    const int other = side == 0 ? size - 1 : 0; /* the last of the upper half, the first of the lower one */
    MPI_Intercomm_create(local, leader, me == leader ? MPI_COMM_WORLD : MPI_COMM_NULL, me == leader ? other : -7, 12,
                         &inter);
    return inter;
}

static void looks_right(MPI_Comm inter, int n_local, int n_remote)
{
    int flag;
    int value;
    MPI_Group group;
    MPI_Comm_test_inter(inter, &flag);
    CHECK(flag);
    MPI_Comm_size(inter, &value);
    CHECK(value == n_local);
    MPI_Comm_remote_size(inter, &value);
    CHECK(value == n_remote);
    MPI_Comm_remote_group(inter, &group);
    MPI_Group_size(group, &value);
    CHECK(value == n_remote);
    MPI_Group_rank(group, &value);
    CHECK(value == MPI_UNDEFINED);
    MPI_Group_free(&group);
}

/* Each rank writes to all of the other side; sources are ranks of that side. */
static void messages(MPI_Comm inter)
{
    int n;
    int m;
    int my_rank;
    MPI_Comm_remote_size(inter, &n);
    MPI_Comm_size(inter, &m);
    MPI_Comm_rank(inter, &my_rank);
    MPI_Request *requests = malloc((size_t)n * sizeof(*requests));
    int out[2] = {rank, my_rank};
    for (int i = 0; i < n; i++)
        MPI_Isend(out, 2, MPI_INT, i, 5, inter, &requests[i]);
    for (int i = 0; i < n; i++) {
        MPI_Status status;
        int in[2];
        MPI_Probe(MPI_ANY_SOURCE, 5, inter, &status);
        CHECK(status.MPI_SOURCE >= 0 && status.MPI_SOURCE < n);
        MPI_Recv(in, 2, MPI_INT, status.MPI_SOURCE, 5, inter, &status);
        CHECK(in[1] == status.MPI_SOURCE);
    }
    MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
    MPI_Send(out, 1, MPI_INT, MPI_PROC_NULL, 5, inter);
    CHECK(class_of(MPI_Send(out, 1, MPI_INT, n, 5, inter)) == MPI_ERR_RANK);
    free(requests);
}

/* high: which side says it; 0: the lower, 1: the upper, 2: neither, 3: both. */
static void merges(MPI_Comm inter)
{
    for (int high = 0; high < 4; high++) {
        MPI_Comm merged;
        int flag;
        int n;
        int sum;
        MPI_Intercomm_merge(inter, high == 3 || high == side, &merged);
        MPI_Comm_test_inter(merged, &flag);
        MPI_Comm_size(merged, &n);
        CHECK(!flag && n == size);
        MPI_Comm_rank(merged, &n);
        const int first = high == 0 ? 1 : 0; /* which side comes first; equal ones: the lower half */
        CHECK(n == (side == first ? me : theirs + me));
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, merged);
        CHECK(sum == size * (size - 1) / 2);
        MPI_Comm_free(&merged);
    }
}

static void copies(MPI_Comm inter)
{
    MPI_Comm copy;
    int result;
    MPI_Comm_dup(inter, &copy);
    looks_right(copy, mine, theirs);
    messages(copy);
    MPI_Comm_compare(inter, copy, &result);
    CHECK(result == MPI_CONGRUENT);
    MPI_Comm_compare(inter, MPI_COMM_WORLD, &result);
    CHECK(result == MPI_UNEQUAL);
    MPI_Comm_compare(inter, local, &result);
    CHECK(result == MPI_UNEQUAL);
    MPI_Comm_free(&copy);
    MPI_Request request;
    MPI_Comm_idup(inter, &copy, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    looks_right(copy, mine, theirs);
    messages(copy);
    MPI_Comm_free(&copy);
}

/* The last of each side only. */
static void subsets(MPI_Comm inter)
{
    MPI_Group all;
    MPI_Group last;
    MPI_Comm sub;
    const int which = mine - 1;
    MPI_Comm_group(inter, &all);
    MPI_Group_incl(all, 1, &which, &last);
    MPI_Comm_create(inter, last, &sub);
    CHECK((sub != MPI_COMM_NULL) == (me == which));
    if (sub != MPI_COMM_NULL) {
        int from;
        int to = rank;
        looks_right(sub, 1, 1);
        MPI_Sendrecv(&to, 1, MPI_INT, 0, 1, &from, 1, MPI_INT, 0, 1, sub, MPI_STATUS_IGNORE);
        CHECK(from == world_of(theirs - 1, !side));
        MPI_Comm_free(&sub);
    }
    MPI_Comm_create(inter, side == 0 ? all : MPI_GROUP_EMPTY, &sub);
    CHECK(sub == MPI_COMM_NULL);
    MPI_Group_free(&all);
    MPI_Group_free(&last);
}

/* Even ranks with even ones, odd with odd; a colour that only one side has gives nothing. */
static void splits(MPI_Comm inter)
{
    MPI_Comm part;
    int n;
    MPI_Comm_split(inter, me % 2, -me, &part);
    if (me % 2 == 1 && theirs < 2) {
        CHECK(part == MPI_COMM_NULL);
    } else {
        looks_right(part, (mine + 1 - me % 2) / 2, (theirs + 1 - me % 2) / 2);
        messages(part);
        MPI_Comm_rank(part, &n);
        CHECK(n == (mine + 1 - me % 2) / 2 - 1 - me / 2); /* by falling rank */
        MPI_Comm_free(&part);
    }
    MPI_Comm_split(inter, side == 0 ? 1 : MPI_UNDEFINED, 0, &part);
    CHECK(part == MPI_COMM_NULL);
}

static void wrong(MPI_Comm inter)
{
    int value;
    MPI_Comm out;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK(class_of(MPI_Comm_remote_size(MPI_COMM_WORLD, &value)) == MPI_ERR_COMM);
    CHECK(class_of(MPI_Intercomm_merge(MPI_COMM_WORLD, 0, &out)) == MPI_ERR_COMM);
    CHECK(class_of(MPI_Intercomm_create(inter, 0, MPI_COMM_WORLD, 0, 0, &out)) == MPI_ERR_COMM);
    CHECK(class_of(MPI_Scan(&value, &value, 1, MPI_INT, MPI_SUM, inter)) == MPI_ERR_COMM);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

static void test(void)
{
    side = rank >= size / 2;
    mine = side == 0 ? size / 2 : size - size / 2;
    theirs = size - mine;
    MPI_Comm_split(MPI_COMM_WORLD, side, rank, &local);
    MPI_Comm_rank(local, &me);
    MPI_Comm inter = make(side == 0 ? 0 : mine - 1);
    looks_right(inter, mine, theirs);
    MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
    messages(inter);
    merges(inter);
    copies(inter);
    subsets(inter);
    splits(inter);
    wrong(inter);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&local);
}
