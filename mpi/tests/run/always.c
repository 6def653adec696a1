/* SPDX-License-Identifier: Apache-2.0
 * always.c - calls that are thread-safe at any time (MPI 5.0, 11.4.1): before MPI_Init and after MPI_Finalize, and below
 * MPI_THREAD_MULTIPLE beside the thread that sends and receives. Afterwards a rank that computes is answered for as before, also
 * when an error handler has left by longjmp().
 * ranks: 1 2
 */
#define RULE_OWN_MAIN
#include "rule.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <setjmp.h>
#include <unistd.h>

#define THREADS 4
#define CLASSES 5000
#define LENGTH 3000000

static int classes[THREADS][CLASSES];
static atomic_int stops;

static void look_at_class(int class)
{
    char text[MPI_MAX_ERROR_STRING];
    int found;
    int length;
    int code;
    CHECK(MPI_Error_class(class, &found) == MPI_SUCCESS && found == class);
    CHECK(MPI_Add_error_string(class, "mine") == MPI_SUCCESS);
    CHECK(MPI_Error_string(class, text, &length) == MPI_SUCCESS && length >= 4);
    CHECK(MPI_Remove_error_string(class) == MPI_SUCCESS);
    CHECK(MPI_Add_error_code(class, &code) == MPI_SUCCESS && class_of(code) == class);
    CHECK(MPI_Remove_error_code(code) == MPI_SUCCESS);
}

static void *add_classes(void *arg)
{
    int *mine = arg;
    for (int i = 0; i < CLASSES; i++) {
        CHECK(MPI_Add_error_class(&mine[i]) == MPI_SUCCESS);
        if (i % 100 == 0)
            look_at_class(mine[i]);
    }
    return NULL;
}

static void of_session(MPI_Session *session, int *code, ...)
{
    (void)session, (void)code;
}

static void use_info(void)
{
    char value[MPI_MAX_INFO_VAL];
    int length = sizeof(value);
    int flag;
    MPI_Info info;
    MPI_Info copy;
    CHECK(MPI_Info_create(&info) == MPI_SUCCESS && MPI_Info_set(info, "a", "b") == MPI_SUCCESS);
    CHECK(MPI_Info_fromint(MPI_Info_toint(info)) == info);
    CHECK(MPI_Info_dup(info, &copy) == MPI_SUCCESS && MPI_Info_free(&info) == MPI_SUCCESS);
    CHECK(MPI_Info_get_string(copy, "a", &length, value, &flag) == MPI_SUCCESS && flag && strcmp(value, "b") == 0);
    length = sizeof(value);
    CHECK(MPI_Info_get_string(MPI_INFO_ENV, "command", &length, value, &flag) == MPI_SUCCESS && flag);
    CHECK(MPI_Info_free(&copy) == MPI_SUCCESS);
}

static void *use_small_objects(void *unused)
{
    for (int i = 0; i < 2000 || (unused != NULL && !atomic_load(&stops)); i++) {
        MPI_Errhandler handler;
        int flag;
        use_info();
        CHECK(MPI_Session_create_errhandler(of_session, &handler) == MPI_SUCCESS);
        CHECK(MPI_Errhandler_free(&handler) == MPI_SUCCESS);
        CHECK(MPI_Initialized(&flag) == MPI_SUCCESS && MPI_Finalized(&flag) == MPI_SUCCESS);
    }
    return NULL;
}

static int by_value(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static void in_all_threads(void)
{
    pthread_t threads[THREADS + 2];
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, add_classes, classes[i]) == 0);
    for (int i = THREADS; i < THREADS + 2; i++)
        CHECK(pthread_create(&threads[i], NULL, use_small_objects, NULL) == 0);
    for (int i = 0; i < THREADS + 2; i++)
        pthread_join(threads[i], NULL);
    qsort(classes, THREADS * CLASSES, sizeof(int), by_value);
    for (int i = 1; i < THREADS * CLASSES; i++)
        CHECK(((int *)classes)[i] != ((int *)classes)[i - 1]);
}

/* Other threads use small objects while this one sends and receives to itself. */
static void beside_messages(void)
{
    pthread_t threads[2];
    int in = 0;
    for (int i = 0; i < 2; i++)
        CHECK(pthread_create(&threads[i], NULL, use_small_objects, &in) == 0);
    for (int i = 0; i < 200000; i++) {
        MPI_Sendrecv(&i, 1, MPI_INT, 0, 0, &in, 1, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
        CHECK(in == i);
    }
    atomic_store(&stops, 1);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
}

static jmp_buf back;

static void jumps(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
    longjmp(back, 1);
}

/* An error handler that does not return leaves the library, too. */
static void is_left(void)
{
    MPI_Errhandler handler;
    MPI_Comm_create_errhandler(jumps, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
    MPI_Errhandler_free(&handler);
    if (setjmp(back) == 0) {
        MPI_Comm_call_errhandler(MPI_COMM_SELF, MPI_ERR_OTHER);
        CHECK(0);
    }
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
}

/* Rank 0 calls nothing of MPI until rank 1's message has gone, which rank 1 tells through a pipe. */
static void is_answered_for(void)
{
    unsigned char *bytes = calloc(1, LENGTH);
    int place[2] = {(int)getpid(), 0};
    int ends[2];
    char done = 0;
    CHECK(bytes != NULL && pipe(ends) == 0);
    if (rank == 0) {
        MPI_Request request;
        place[1] = ends[1];
        MPI_Irecv(bytes, LENGTH, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &request);
        MPI_Send(place, 2, MPI_INT, 1, 0, MPI_COMM_WORLD);
        CHECK(read(ends[0], &done, 1) == 1);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        char path[64];
        MPI_Recv(place, 2, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Ssend(bytes, LENGTH, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
        snprintf(path, sizeof(path), "/proc/%d/fd/%d", place[0], place[1]);
        const int fd = open(path, O_WRONLY);
        CHECK(fd >= 0 && write(fd, &done, 1) == 1);
        close(fd);
    }
    close(ends[0]);
    close(ends[1]);
    free(bytes);
}

int main(int argc, char **argv)
{
    int provided;
    in_all_threads();
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    beside_messages();
    is_left();
    if (size == 2)
        is_answered_for();
    MPI_Finalize();
    in_all_threads();
    CHECK(class_of(classes[0][0]) == classes[0][0]);
    return 0;
}
