/* SPDX-License-Identifier: Apache-2.0
 * own.c - what programs of an older ABI use and the standard does not have: numbers of handles in Fortran, functions by name for
 * attributes, codes above MPI_ERR_LASTCODE, short buffers for texts, conversion of each constant that a function gives back.
 * ranks: 1 2
 */
#include "rule.h"

static void numbers(void)
{
    MPI_Comm dup;
    MPI_Request request = MPI_REQUEST_NULL;
    CHECK(MPI_Comm_f2c(MPI_Comm_c2f(MPI_COMM_WORLD)) == MPI_COMM_WORLD);
    CHECK(MPI_Comm_f2c(MPI_Comm_c2f(MPI_COMM_SELF)) == MPI_COMM_SELF);
    CHECK(MPI_Comm_f2c(MPI_Comm_c2f(MPI_COMM_NULL)) == MPI_COMM_NULL);
    CHECK(MPI_Type_f2c(MPI_Type_c2f(MPI_DOUBLE)) == MPI_DOUBLE && MPI_Op_f2c(MPI_Op_c2f(MPI_SUM)) == MPI_SUM);
    CHECK(MPI_Request_f2c(MPI_Request_c2f(request)) == MPI_REQUEST_NULL);
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    const MPI_Fint number = MPI_Comm_c2f(dup);
    CHECK(MPI_Comm_f2c(number) == dup && MPI_Comm_c2f(dup) == number);
    MPI_Comm_free(&dup);
    CHECK(dup == MPI_COMM_NULL);
#ifdef OPEN_MPI /* the numbers of MPICH are the handles */
    CHECK(MPI_Comm_f2c(number) == MPI_COMM_NULL && MPI_Comm_f2c(-5) == MPI_COMM_NULL);
    CHECK(MPI_Comm_f2c(79) == MPI_COMM_NULL);
#endif
}

#ifdef MPICH_VERSION
/* Ints that are no handles, and those of objects that have ended. */
static void strange_handles(void)
{
    MPI_Comm dup;
    int n;
    const MPI_Comm strange[] = {0, 5, -1, 0x44000002, 0x440000ff, (int)0x84000000, (int)0x84001fff, (int)0x87ffffff};
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    for (size_t i = 0; i < sizeof(strange) / sizeof(strange[0]); i++)
        CHECK(class_of(MPI_Comm_size(strange[i], &n)) == MPI_ERR_COMM);
    MPI_Comm_dup(MPI_COMM_SELF, &dup);
    const MPI_Comm ended = dup;
    MPI_Comm_free(&dup);
    CHECK(class_of(MPI_Comm_size(ended, &n)) == MPI_ERR_COMM);
    CHECK(class_of(MPI_Type_size(0x4c000499, &n)) == MPI_ERR_TYPE);
    CHECK(class_of(MPI_Type_size((MPI_Datatype)MPI_COMM_WORLD, &n)) == MPI_ERR_TYPE);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
}
#else
static void strange_handles(void) {}
#endif

/* The library is of the standard that the header is of, or of a later one. Each class of the header is a class. */
static void version_and_classes(void)
{
    int version, subversion;
    CHECK(MPI_Get_version(&version, &subversion) == MPI_SUCCESS);
    CHECK(version > MPI_VERSION || (version == MPI_VERSION && subversion >= MPI_SUBVERSION));
    CHECK(class_of(MPI_ERR_KEYVAL) == MPI_ERR_KEYVAL && class_of(MPI_ERR_RMA_SHARED) == MPI_ERR_RMA_SHARED);
    CHECK(class_of(MPI_ERR_IN_STATUS) == MPI_ERR_IN_STATUS && class_of(MPI_ERR_LASTCODE) == MPI_ERR_LASTCODE);
#ifdef MPICH_VERSION
    CHECK(class_of(MPIX_ERR_REVOKED) == MPIX_ERR_REVOKED);
#endif
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRHANDLER_NULL) != MPI_SUCCESS);
    CHECK(class_of(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRHANDLER_NULL)) <= MPI_ERR_LASTCODE);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

static int copies, deletions;

static int copy(MPI_Comm comm, int keyval, void *extra, void *in, void *out, int *flag)
{
    copies++;
    CHECK(comm == MPI_COMM_SELF && extra == &copies && keyval != MPI_KEYVAL_INVALID);
    *(void **)out = (char *)in + 1;
    *flag = 1;
    return MPI_SUCCESS;
}

static int drop(MPI_Comm comm, int keyval, void *value, void *extra)
{
    (void)keyval, (void)value;
    CHECK(comm != MPI_COMM_NULL && extra == &copies);
    return ++deletions == 1 ? MPI_ERR_ARG : MPI_SUCCESS; /* the first one fails */
}

static void keys(void)
{
    int mine, dup_key, flag;
    char *value;
    MPI_Comm dup;
    MPI_Comm_create_keyval(copy, drop, &mine, &copies);
    MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &dup_key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, mine, "abc");
    MPI_Comm_set_attr(MPI_COMM_SELF, dup_key, &copies);
    MPI_Comm_dup(MPI_COMM_SELF, &dup);
    MPI_Comm_get_attr(dup, mine, &value, &flag);
    CHECK(flag && strcmp(value, "bc") == 0 && copies == 1);
    MPI_Comm_get_attr(dup, dup_key, &value, &flag);
    CHECK(flag && value == (char *)&copies);
    MPI_Comm_set_errhandler(dup, MPI_ERRORS_RETURN);
    CHECK(class_of(MPI_Comm_delete_attr(dup, mine)) == MPI_ERR_ARG && deletions == 1);
    CHECK(MPI_Comm_delete_attr(dup, mine) == MPI_SUCCESS && deletions == 2);
    CHECK(class_of(MPI_Comm_delete_attr(dup, mine)) == MPI_ERR_KEYVAL);
    MPI_Comm_free(&dup);
    MPI_Comm_delete_attr(MPI_COMM_SELF, mine);
    MPI_Comm_free_keyval(&mine);
    CHECK(mine == MPI_KEYVAL_INVALID);
}

static void predefined_keys(void)
{
    int *value, flag, class;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &flag);
    CHECK(flag && *value >= 32767);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_IO, &value, &flag);
    CHECK(flag && *value == MPI_ANY_SOURCE);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_HOST, &value, &flag);
    CHECK(flag && *value == MPI_PROC_NULL);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &value, &flag);
    CHECK(flag && *value == MPI_ERR_LASTCODE);
    MPI_Add_error_class(&class);
    CHECK(class > MPI_ERR_LASTCODE);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &value, &flag);
    CHECK(flag && *value == class && class_of(class) == class);
}

static MPI_Comm raised_on;
static int raised;

static void handle(MPI_Comm *comm, int *code, ...)
{
    raised_on = *comm;
    raised = *code;
}

static void handlers(void)
{
    MPI_Errhandler mine, found;
    int value = 0;
    MPI_Comm_create_errhandler(handle, &mine);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, mine);
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &found);
    CHECK(found == mine);
    CHECK(class_of(MPI_Send(&value, 1, MPI_INT, size, 0, MPI_COMM_WORLD)) == MPI_ERR_RANK);
    CHECK(raised_on == MPI_COMM_WORLD && class_of(raised) == MPI_ERR_RANK);
    CHECK(class_of(MPI_Send(&value, 1, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_WORLD)) == MPI_ERR_TYPE);
    CHECK(class_of(MPI_Send(&value, 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD)) == MPI_ERR_TAG);
    CHECK(MPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_OTHER) == MPI_SUCCESS && raised == MPI_ERR_OTHER);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&mine);
    MPI_Errhandler_free(&found);
    CHECK(mine == MPI_ERRHANDLER_NULL);
}

/* Buffers of the header's lengths, with a guard behind. */
static void texts(void)
{
    struct {
        char text[MPI_MAX_OBJECT_NAME], guard;
    } name = {.guard = 7};
    struct {
        char text[MPI_MAX_LIBRARY_VERSION_STRING], guard;
    } version = {.guard = 7};
    struct {
        char text[MPI_MAX_ERROR_STRING], guard;
    } error = {.guard = 7};
    int length;
    MPI_Comm_set_name(MPI_COMM_WORLD,
                      "a name that has one hundred letters a name that has one hundred letters a name of hundred");
    MPI_Comm_get_name(MPI_COMM_WORLD, name.text, &length);
    CHECK(name.guard == 7 && length == (int)strlen(name.text) && length < MPI_MAX_OBJECT_NAME);
    MPI_Get_library_version(version.text, &length);
    CHECK(version.guard == 7 && length == (int)strlen(version.text) && strstr(version.text, "Verbena") != NULL);
    for (int code = 0; code <= MPI_ERR_LASTCODE && code < 200; code++) /* MPICH has a thousand million */
        if (class_of(code) == code) {
            MPI_Error_string(code, error.text, &length);
            CHECK(error.guard == 7 && length == (int)strlen(error.text));
        }
}

static void constants(void)
{
    MPI_Comm dup, cart;
    MPI_Group group, other;
    MPI_Datatype type, found[1];
    const int one[1] = {1};
    int result, dims[1] = {1}, before, after, n[3], combiner, integers[16], rank_there;
    MPI_Aint addresses[1];
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    MPI_Comm_compare(MPI_COMM_WORLD, dup, &result);
    CHECK(result == MPI_CONGRUENT);
    MPI_Topo_test(dup, &result);
    CHECK(result == MPI_UNDEFINED);
    MPI_Cart_create(MPI_COMM_SELF, 1, dims, (int[]){0}, 0, &cart);
    MPI_Topo_test(cart, &result);
    CHECK(result == MPI_CART);
    MPI_Cart_shift(cart, 0, 1, &before, &after);
    CHECK(before == MPI_PROC_NULL && after == MPI_PROC_NULL);
    MPI_Comm_group(MPI_COMM_WORLD, &group);
    MPI_Comm_group(MPI_COMM_SELF, &other);
    MPI_Group_translate_ranks(group, 1, (int[]){MPI_PROC_NULL}, other, &rank_there);
    CHECK(rank_there == MPI_PROC_NULL);
    MPI_Type_create_subarray(1, one, one, (int[]){0}, MPI_ORDER_FORTRAN, MPI_INT, &type);
    MPI_Type_get_envelope(type, &n[0], &n[1], &n[2], &combiner);
    CHECK(combiner == MPI_COMBINER_SUBARRAY && n[0] == 5 && n[2] == 1);
    MPI_Type_get_contents(type, n[0], n[1], n[2], integers, addresses, found);
    CHECK(integers[4] == MPI_ORDER_FORTRAN && found[0] == MPI_INT);
    MPI_Type_free(&type);
    MPI_Type_create_darray(1, 0, 1, (int[]){4}, (int[]){MPI_DISTRIBUTE_CYCLIC}, (int[]){MPI_DISTRIBUTE_DFLT_DARG}, one,
                           MPI_ORDER_C, MPI_INT, &type);
    MPI_Type_get_contents(type, 8, 0, 1, integers, addresses, found);
    CHECK(integers[4] == MPI_DISTRIBUTE_CYCLIC && integers[5] == MPI_DISTRIBUTE_DFLT_DARG &&
          integers[7] == MPI_ORDER_C);
    MPI_Type_free(&type);
    MPI_Group_free(&group);
    MPI_Group_free(&other);
    MPI_Comm_free(&cart);
    MPI_Comm_free(&dup);
}

static void statuses(void)
{
    enum { MANY = 200 }; /* more than lie on the stack */
    static MPI_Request requests[MANY];
    static MPI_Status all[MANY];
    MPI_Status status = {.MPI_ERROR = 12345};
    int value = 5, in[MANY];
    MPI_Sendrecv(&value, 1, MPI_INT, MPI_PROC_NULL, 0, in, 1, MPI_INT, MPI_PROC_NULL, MPI_ANY_TAG, MPI_COMM_WORLD,
                 &status);
    CHECK(status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG && status.MPI_ERROR == 12345);
    for (int i = 0; i < MANY; i++)
        MPI_Irecv(&in[i], 1, MPI_INT, MPI_ANY_SOURCE, i, MPI_COMM_SELF, &requests[i]);
    for (int i = 0; i < MANY; i++)
        MPI_Send(&i, 1, MPI_INT, 0, i, MPI_COMM_SELF);
    MPI_Waitall(MANY, requests, all);
    for (int i = 0; i < MANY; i++) {
        int count;
        MPI_Get_count(&all[i], MPI_INT, &count);
        CHECK(in[i] == i && all[i].MPI_TAG == i && all[i].MPI_SOURCE == 0 && count == 1 &&
              requests[i] == MPI_REQUEST_NULL);
    }
}

static void test(void)
{
    numbers();
    strange_handles();
    version_and_classes();
    keys();
    predefined_keys();
    handlers();
    texts();
    constants();
    statuses();
}
