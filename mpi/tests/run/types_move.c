/* SPDX-License-Identifier: Apache-2.0
 * types_move.c - messages of derived datatypes: what arrives depends on the order of the basic elements, not on how either
 * side lays them out; nothing between the elements is written.
 * ranks: 2 tcp
 */
#include "rule.h"

#include <stddef.h>

#define MOST 300000

static int *numbers; /* rank 0: the elements; rank 1: what came */

/* `count` ints, every `step`-th one; with first and last ones of their own when they are many. */
static MPI_Datatype every(int count, int step)
{
    MPI_Datatype type;
    MPI_Type_vector(count, 1, step, MPI_INT, &type);
    MPI_Type_commit(&type);
    return type;
}

/* Blocks of growing length, with growing gaps: more pieces than a list holds. */
static MPI_Datatype ragged(int count, int *span)
{
    int *lengths = malloc((size_t)count * sizeof(int));
    int *displs = malloc((size_t)count * sizeof(int));
    int blocks = 0;
    int at = 0;
    for (int left = count; left > 0; blocks++) {
        lengths[blocks] = 1 + blocks % 7 < left ? 1 + blocks % 7 : left;
        displs[blocks] = at;
        at += lengths[blocks] + 1 + blocks % 3;
        left -= lengths[blocks];
    }
    MPI_Datatype type;
    MPI_Type_indexed(blocks, lengths, displs, MPI_INT, &type);
    MPI_Type_commit(&type);
    *span = at;
    free(lengths);
    free(displs);
    return type;
}

static void send_one(int mode, const void *buffer, int count, MPI_Datatype type)
{
    MPI_Request request;
    switch (mode) {
    case 0: MPI_Send(buffer, count, type, 1, 5, MPI_COMM_WORLD); break;
    case 1: MPI_Ssend(buffer, count, type, 1, 5, MPI_COMM_WORLD); break;
    case 2: MPI_Bsend(buffer, count, type, 1, 5, MPI_COMM_WORLD); break;
    default: MPI_Isend(buffer, count, type, 1, 5, MPI_COMM_WORLD, &request); MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

static void take_plain(int count)
{
    MPI_Status status;
    int got;
    memset(numbers, 0xee, (size_t)(count + 1) * sizeof(int));
    MPI_Recv(numbers, count, MPI_INT, 0, 5, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_INT, &got);
    CHECK(got == count);
    for (int i = 0; i < count; i++)
        CHECK(numbers[i] == i * 3);
    CHECK(numbers[count] == (int)0xeeeeeeee);
}

/* Out of every third place, in one piece. */
static void gaps_to_plain(int count, int mode)
{
    MPI_Datatype type = every(count, 3);
    for (int i = 0; i < 3 * count; i++)
        numbers[i] = i;
    if (rank == 0)
        send_one(mode, numbers, 1, type);
    else
        take_plain(count);
    MPI_Type_free(&type);
}

/* In one piece, into places with gaps of other lengths; the gaps stay. */
static void plain_to_gaps(int count, int mode)
{
    int span;
    MPI_Datatype type = ragged(count, &span);
    MPI_Status status;
    int got;
    for (int i = 0; i < count && rank == 0; i++)
        numbers[i] = i + 1;
    if (rank == 0) {
        send_one(mode, numbers, count, MPI_INT);
    } else {
        memset(numbers, 0, (size_t)span * sizeof(int));
        MPI_Recv(numbers, 1, type, 0, 5, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, type, &got);
        CHECK(got == 1);
        int at = 0;
        int wanted = 1;
        for (int block = 0; wanted <= count; block++) {
            for (int i = 0; i <= block % 7 && wanted <= count; i++)
                CHECK(numbers[at++] == wanted++);
            for (int i = 0; i <= block % 3 && wanted <= count; i++)
                CHECK(numbers[at++] == 0);
        }
    }
    MPI_Type_free(&type);
}

/* The type may be freed while the message is under way. */
static void freed_meanwhile(int count)
{
    MPI_Datatype type = every(count, 2);
    MPI_Request request;
    for (int i = 0; i < 2 * count; i++)
        numbers[i] = rank == 0 ? i : -1;
    if (rank == 0)
        MPI_Isend(numbers, 1, type, 1, 6, MPI_COMM_WORLD, &request);
    else
        MPI_Irecv(numbers, 1, type, 0, 6, MPI_COMM_WORLD, &request);
    MPI_Type_free(&type);
    CHECK(type == MPI_DATATYPE_NULL);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < 2 * count - 1; i++)
        CHECK(numbers[i] == (rank == 0 || i % 2 == 0 ? i : -1));
}

/* A message that fills part of the buffer: whole types, or basic elements of the last one. */
static void part_of_a_type(void)
{
    MPI_Datatype type = every(3, 2);
    MPI_Status status;
    int count, elements, places[30];
    for (int sent = 0; sent <= 9; sent++) {
        for (int i = 0; i < 30; i++)
            places[i] = rank == 0 ? i : -1;
        if (rank == 0) {
            MPI_Send(places, sent, MPI_INT, 1, 7, MPI_COMM_WORLD);
            continue;
        }
        MPI_Recv(places, 3, type, 0, 7, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, type, &count);
        MPI_Get_elements(&status, type, &elements);
        CHECK(elements == sent);
        CHECK(count == (sent % 3 == 0 ? sent / 3 : MPI_UNDEFINED));
        for (int i = 0; i < 9; i++) /* extent: 5 ints */
            CHECK(places[i / 3 * 5 + i % 3 * 2] == (i < sent ? i : -1));
    }
    MPI_Type_free(&type);
}

static void too_long(int count)
{
    MPI_Datatype type = every(count, 2);
    memset(numbers, 0, (size_t)(2 * count + 2) * sizeof(int));
    if (rank == 0) {
        MPI_Send(numbers, count + 1, MPI_INT, 1, 8, MPI_COMM_WORLD);
    } else {
        numbers[0] = 77;
        CHECK(class_of(MPI_Recv(numbers, 1, type, 0, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE)) == MPI_ERR_TRUNCATE);
        CHECK(numbers[0] == 77);
    }
    MPI_Type_free(&type);
}

/* Both sides of a struct of different members, at other places at each side. */
static void structs(void)
{
    struct one {
        char letter;
        double value;
        short many[3];
    } here[4];
    struct other {
        short many[3];
        double value;
        char letter;
    } there[4];
    const int lengths[] = {1, 1, 3};
    const MPI_Datatype members[] = {MPI_CHAR, MPI_DOUBLE, MPI_SHORT};
    const MPI_Aint from[] = {offsetof(struct one, letter), offsetof(struct one, value), offsetof(struct one, many)};
    const MPI_Aint to[] = {offsetof(struct other, letter), offsetof(struct other, value), offsetof(struct other, many)};
    MPI_Datatype packed, type;
    MPI_Type_create_struct(3, lengths, rank == 0 ? from : to, members, &packed);
    MPI_Type_create_resized(packed, 0, rank == 0 ? sizeof(struct one) : sizeof(struct other), &type);
    MPI_Type_free(&packed);
    MPI_Type_commit(&type);
    memset(there, 0, sizeof(there));
    for (int i = 0; i < 4; i++)
        here[i] = (struct one){(char)('a' + i), i / 2.0, {(short)i, (short)-i, 7}};
    if (rank == 0)
        MPI_Send(here, 4, type, 1, 9, MPI_COMM_WORLD);
    else
        MPI_Recv(there, 4, type, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < 4 && rank == 1; i++)
        CHECK(there[i].letter == 'a' + i && there[i].value == i / 2.0 && there[i].many[0] == i &&
              there[i].many[1] == -i && there[i].many[2] == 7);
    MPI_Type_free(&type);
}

/* Absolute addresses from MPI_BOTTOM; a value and index is a struct of both. */
static void bottom_and_pairs(void)
{
    static int first = 1, second = 2;
    struct {
        double value;
        int index;
    } pairs[3] = {{0.5, 1}, {1.5, 2}, {2.5, 3}};
    const int ones[] = {1, 1};
    const MPI_Datatype members[] = {MPI_DOUBLE, MPI_INT};
    MPI_Aint places[2];
    MPI_Datatype type;
    MPI_Get_address(&first, &places[0]);
    MPI_Get_address(&second, &places[1]);
    MPI_Type_create_hindexed(2, ones, places, MPI_INT, &type);
    MPI_Type_commit(&type);
    int got[2] = {0, 0};
    if (rank == 0) {
        MPI_Send(MPI_BOTTOM, 1, type, 1, 10, MPI_COMM_WORLD);
        MPI_Send(pairs, 3, MPI_DOUBLE_INT, 1, 11, MPI_COMM_WORLD);
    } else {
        MPI_Recv(got, 2, MPI_INT, 0, 10, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(got[0] == 1 && got[1] == 2);
        MPI_Datatype both;
        MPI_Type_create_struct(2, ones, (const MPI_Aint[]){20, 0}, members, &both);
        MPI_Type_commit(&both);
        char bytes[3 * 32];
        MPI_Recv(bytes, 3, both, 0, 11, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Aint lb, extent;
        MPI_Type_get_extent(both, &lb, &extent);
        for (int i = 0; i < 3; i++)
            CHECK(memcmp(bytes + i * extent + 20, &pairs[i].value, 8) == 0 &&
                  memcmp(bytes + i * extent, &pairs[i].index, 4) == 0);
        MPI_Type_free(&both);
    }
    MPI_Type_free(&type);
}

static void kept_and_exchanged(void)
{
    MPI_Datatype type = every(500, 4);
    MPI_Request request;
    if (rank == 0)
        MPI_Send_init(numbers, 1, type, 1, 12, MPI_COMM_WORLD, &request);
    else
        MPI_Recv_init(numbers, 1, type, 0, 12, MPI_COMM_WORLD, &request);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 2000; i++)
            numbers[i] = rank == 0 ? i + round : -1;
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        for (int i = 0; i < 500; i++)
            CHECK(numbers[4 * i] == 4 * i + round && numbers[4 * i + 1] == (rank == 0 ? 4 * i + 1 + round : -1));
    }
    MPI_Request_free(&request);
    for (int i = 0; i < 2000; i++)
        numbers[i] = i + rank;
    MPI_Sendrecv_replace(numbers, 1, type, !rank, 13, !rank, 13, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < 1997; i++)
        CHECK(numbers[i] == i + (i % 4 == 0 ? !rank : rank));
    MPI_Type_free(&type);
}

static void probed(void)
{
    MPI_Datatype type = every(1000, 2);
    MPI_Message message;
    MPI_Status status;
    int count;
    for (int i = 0; i < 2000; i++)
        numbers[i] = rank == 0 ? i : -1;
    if (rank == 0) {
        MPI_Send(numbers, 1, type, 1, 14, MPI_COMM_WORLD);
    } else {
        MPI_Mprobe(0, 14, MPI_COMM_WORLD, &message, &status);
        MPI_Get_elements(&status, type, &count);
        CHECK(count == 1000);
        MPI_Mrecv(numbers, 1, type, &message, MPI_STATUS_IGNORE);
        for (int i = 0; i < 1999; i++)
            CHECK(numbers[i] == (i % 2 == 0 ? i : -1));
    }
    MPI_Type_free(&type);
}

/* With a negative stride the elements lie before the buffer's address, the first one there. */
static void backwards(void)
{
    MPI_Datatype types[3];
    CHECK(MPI_Type_vector(4, 1, -2, MPI_INT, &types[0]) == MPI_SUCCESS);
    CHECK(MPI_Type_vector_c(4, 1, -2, MPI_INT, &types[1]) == MPI_SUCCESS);
    CHECK(MPI_Type_create_hvector(4, 1, -8, MPI_INT, &types[2]) == MPI_SUCCESS);
    for (int i = 0; i < 3; i++) {
        MPI_Aint lb;
        MPI_Aint extent;
        MPI_Type_commit(&types[i]);
        MPI_Type_get_extent(types[i], &lb, &extent);
        CHECK(lb == -24 && extent == 28);
        for (int k = 0; k < 8; k++)
            numbers[k] = rank == 0 ? k : -1;
        if (rank == 0)
            MPI_Send(&numbers[6], 1, types[i], 1, 6, MPI_COMM_WORLD);
        else
            MPI_Recv(numbers, 4, MPI_INT, 0, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int k = 0; rank == 1 && k < 4; k++)
            CHECK(numbers[k] == 6 - 2 * k);
        MPI_Type_free(&types[i]);
    }
}

static void test(void)
{
    const int counts[] = {1, 5, 16, 17, 1000, 3000, MOST / 3};
    const int room = 2 * MOST * (int)sizeof(int);
    char *attached = malloc((size_t)room);
    numbers = malloc(MOST * 2 * sizeof(int));
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Buffer_attach(attached, room);
    for (int i = 0; i < 7; i++)
        for (int mode = 0; mode < 4; mode++) {
            gaps_to_plain(counts[i], mode);
            plain_to_gaps(counts[i], mode);
        }
    freed_meanwhile(10);
    freed_meanwhile(MOST / 2);
    part_of_a_type();
    too_long(4);
    too_long(MOST / 4);
    structs();
    backwards();
    bottom_and_pairs();
    kept_and_exchanged();
    probed();
    MPI_Buffer_detach(&attached, &(int){0});
    free(attached);
    free(numbers);
}
