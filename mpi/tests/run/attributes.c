/* SPDX-License-Identifier: Apache-2.0
 * attributes.c - attributes are copied by dup as their functions say, deleted last one first, at MPI_Finalize, too.
 * ranks: 1 2
 */
#include "rule.h"

static int copies;
static int deleted[8];
static int deletions;

static int copy_twice(MPI_Comm comm, int key, void *extra, void *value, void *copy, int *flag)
{
    CHECK(comm == MPI_COMM_WORLD && extra == (void *)7 && key != MPI_KEYVAL_INVALID);
    *(long *)copy = (long)value * 2;
    *flag = 1;
    copies++;
    return MPI_SUCCESS;
}

static int note(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm, (void)key, (void)extra;
    deleted[deletions++ % 8] = (int)(long)value;
    return MPI_SUCCESS;
}

static int refusals = 1;

static int refuse(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm, (void)key, (void)value, (void)extra;
    return refusals-- > 0 ? MPI_ERR_OTHER : MPI_SUCCESS;
}

/* Called by MPI_Finalize: MPI still works. */
static int at_the_end(MPI_Comm comm, int key, void *value, void *extra)
{
    int flag;
    (void)key, (void)extra;
    MPI_Finalized(&flag);
    CHECK(comm == MPI_COMM_SELF && flag == 0 && value == (void *)5);
    return MPI_SUCCESS;
}

static void predefined(void)
{
    int *value;
    int flag;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &flag);
    CHECK(flag && *value == 0x7fffffff);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &value, &flag);
    CHECK(!flag || *value == size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN); /* for calls without a communicator */
    CHECK(class_of(MPI_Comm_set_attr(MPI_COMM_WORLD, MPI_TAG_UB, &flag)) == MPI_ERR_KEYVAL);
}

/* A key that the program frees stays as long as it has values (7.7.2); here one on dup, and one on MPI_COMM_WORLD. */
static int freed_in_use(int *key, MPI_Comm dup)
{
    const int kept = *key;
    int flag;
    long value;
    MPI_Comm_free_keyval(key);
    CHECK(*key == MPI_KEYVAL_INVALID);
    MPI_Comm_set_errhandler(dup, MPI_ERRORS_RETURN);
    CHECK(class_of(MPI_Comm_free_keyval(&(int){kept})) == MPI_ERR_KEYVAL);
    CHECK(MPI_Comm_get_attr(dup, kept, &value, &flag) == MPI_SUCCESS && flag && value == 12);
    CHECK(MPI_Comm_delete_attr(dup, kept) == MPI_SUCCESS && deletions == 1);
    CHECK(MPI_Comm_get_attr(dup, kept, &value, &flag) == MPI_SUCCESS && !flag);
    return kept;
}

static void test(void)
{
    int keys[4];
    int flag;
    long value;
    MPI_Comm dup;
    predefined();
    MPI_Comm_create_keyval(copy_twice, note, &keys[0], (void *)7);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, note, &keys[1], NULL);
    MPI_Comm_create_keyval(MPI_COMM_DUP_FN, note, &keys[2], NULL);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, refuse, &keys[3], NULL);
    MPI_Comm_get_attr(MPI_COMM_WORLD, keys[0], &value, &flag);
    CHECK(!flag);
    for (int i = 0; i < 3; i++)
        MPI_Comm_set_attr(MPI_COMM_WORLD, keys[i], (void *)(10L + i));
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    MPI_Comm_get_attr(dup, keys[0], &value, &flag);
    CHECK(flag && value == 20 && copies == 1);
    MPI_Comm_get_attr(dup, keys[1], &value, &flag);
    CHECK(!flag);
    const int kept = freed_in_use(&keys[2], dup);
    MPI_Comm_free(&dup);
    CHECK(deletions == 2 && deleted[0] == 12 && deleted[1] == 20); /* the last one set first */
    MPI_Comm_set_attr(MPI_COMM_WORLD, keys[1], (void *)30L);       /* replaces: deletes what was there */
    CHECK(deletions == 3 && deleted[2] == 11);
    CHECK(MPI_Comm_set_attr(MPI_COMM_WORLD, kept, (void *)40L) == MPI_SUCCESS && deletions == 4 && deleted[3] == 12);
    CHECK(MPI_Comm_delete_attr(MPI_COMM_WORLD, kept) == MPI_SUCCESS && deletions == 5 && deleted[4] == 40);
    CHECK(class_of(MPI_Comm_get_attr(MPI_COMM_WORLD, kept, &value, &flag)) ==
          MPI_ERR_KEYVAL); /* that was the last one */
    MPI_Comm_split(MPI_COMM_WORLD, 0, 0, &dup);
    MPI_Comm_set_attr(dup, keys[3], NULL);
    CHECK(class_of(MPI_Comm_free(&dup)) == MPI_ERR_OTHER);
    MPI_Comm_get_attr(dup, keys[3], &value, &flag);
    CHECK(flag); /* what could not be deleted stays, and so does the communicator */
    MPI_Comm_free(&dup);
    CHECK(dup == MPI_COMM_NULL);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_the_end, &keys[2], NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, keys[2], (void *)5);
    MPI_Comm_free_keyval(&keys[2]);
}
