/* SPDX-License-Identifier: Apache-2.0
 * types_attributes.c - attributes of datatypes: copied by dup as their copy function wants, deleted with the last handle.
 * ranks: 1
 */
#include <stdint.h>

#include "rule.h"

static int deleted[3];

static int copy(MPI_Datatype type, int keyval, void *extra, void *in, void *out, int *flag)
{
    (void)type, (void)keyval;
    *(void **)out = (void *)((intptr_t)in + *(int *)extra);
    *flag = 1;
    return MPI_SUCCESS;
}

static int delete_one(MPI_Datatype type, int keyval, void *value, void *extra)
{
    (void)type, (void)keyval, (void)extra;
    deleted[(intptr_t)value]++;
    return MPI_SUCCESS;
}

static int refuse(MPI_Datatype type, int keyval, void *value, void *extra)
{
    (void)type, (void)keyval, (void)value;
    return *(int *)extra ? MPI_ERR_OTHER : MPI_SUCCESS;
}

static void test(void)
{
    int one = 1, refuses = 1;
    int key, plain, comm_key, stubborn, flag;
    void *value;
    MPI_Datatype type, dup, again;
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Type_create_keyval(copy, delete_one, &key, &one);
    MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &plain, NULL);
    MPI_Type_create_keyval(MPI_TYPE_DUP_FN, refuse, &stubborn, &refuses);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &comm_key, NULL);
    MPI_Type_contiguous(2, MPI_INT, &type);
    CHECK(class_of(MPI_Type_set_attr(type, comm_key, NULL)) == MPI_ERR_KEYVAL); /* a key of other objects */
    MPI_Type_set_attr(type, key, (void *)(intptr_t)1);
    MPI_Type_set_attr(type, plain, &one);
    MPI_Type_dup(type, &dup);
    MPI_Type_get_attr(dup, key, &value, &flag);
    CHECK(flag && value == (void *)(intptr_t)2);
    MPI_Type_get_attr(dup, plain, &value, &flag);
    CHECK(!flag);
    MPI_Type_contiguous(2, dup, &again); /* keeps the old type, not its handle */
    MPI_Type_free(&dup);
    CHECK(deleted[2] == 1 && deleted[1] == 0);
    MPI_Type_free(&again);
    MPI_Type_delete_attr(type, key);
    CHECK(deleted[1] == 1);
    MPI_Type_set_attr(type, stubborn, NULL);
    CHECK(class_of(MPI_Type_free(&type)) == MPI_ERR_OTHER && type != MPI_DATATYPE_NULL);
    refuses = 0;
    MPI_Type_free(&type);
    MPI_Type_set_attr(MPI_INT, plain, &one); /* predefined types have attributes, too */
    MPI_Type_get_attr(MPI_INT, plain, &value, &flag);
    CHECK(flag && value == &one);
    MPI_Type_delete_attr(MPI_INT, plain);
    MPI_Type_free_keyval(&key);
    CHECK(key == MPI_KEYVAL_INVALID);
    MPI_Type_free_keyval(&plain);
    MPI_Type_free_keyval(&stubborn);
    MPI_Comm_free_keyval(&comm_key);
}
