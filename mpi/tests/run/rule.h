/* SPDX-License-Identifier: Apache-2.0
 * rule.h - what the test programs share. Each program tests one rule of the standard; it ends with 0 when the rule
 * holds. Its first comment says with how many ranks it runs, and "tcp" when also over TCP: "ranks: 1 2 4 tcp".
 */
#ifndef RULE_H
#define RULE_H

#ifndef RULE_THREADS
#define RULE_THREADS MPI_THREAD_SINGLE /* the level that the program asks for, and gets */
#endif

#include <mpi.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank;
static int size;

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "rank %d of %d, %s:%d: not true: %s\n", rank, size, __FILE__, __LINE__, #condition);       \
            MPI_Abort(MPI_COMM_WORLD, 1);                                                                              \
        }                                                                                                              \
    } while (0)

#ifndef RULE_OWN_MAIN
static void test(void);

/* Errors end the program unless a test asks for codes. */
int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, RULE_THREADS, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(provided == RULE_THREADS);
    test();
    MPI_Finalize();
    return 0;
}
#endif

/* Byte i of a message of this kind. */
__attribute__((unused)) static void fill(unsigned char *bytes, int length, int seed)
{
    for (int i = 0; i < length; i++)
        bytes[i] = (unsigned char)(i * 7 + seed * 13 + i / 251);
}

__attribute__((unused)) static int is_filled(const unsigned char *bytes, int length, int seed)
{
    for (int i = 0; i < length; i++)
        if (bytes[i] != (unsigned char)(i * 7 + seed * 13 + i / 251))
            return 0;
    return 1;
}

__attribute__((unused)) static int class_of(int code)
{
    int class = -1;
    MPI_Error_class(code, &class);
    return class;
}

#endif
