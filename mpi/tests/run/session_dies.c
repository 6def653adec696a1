/* SPDX-License-Identifier: Apache-2.0
 * session_dies.c - not a rule: a job of sessions of which rank 1 ends in the middle, for deaths.py. usage: session_dies WAY
 *   before, open   killed before it has opened a session, with one open: the others wait for it in MPI_Comm_create_from_group
 *   never          ends well without having opened one: likewise
 *   leave          ends with an open session
 *   inside         killed by a timer while all make, use and disconnect communicators
 *   finalize       the same while all open and end sessions, too
 *   slowly         the same as inside, and its parent learns of the end half a second later than the other ranks
 *   unseen         killed by a timer while all make communicators, and mpiexec does not see it: each of the others says so when a
 *                  call has failed, and goes on
 */
#include <signal.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "session.h"

static const char *way;

static int is(const char *word)
{
    return strcmp(way, word) == 0;
}

static void kill_itself(int number)
{
    (void)number;
    raise(SIGKILL);
}

/* mpiexec's child goes on and waits for nobody; the rank is its child, which ends alone. */
static void hide(void)
{
    const pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        return;
    }
    for (;;)
        pause();
}

/*
 * A tracer is told of its tracee's end before the parent is, which has to wait until the tracer is gone. Exits with 77 where that
 * is forbidden.
 */
static void watch(void)
{
    const struct timespec half = {.tv_nsec = 500000000};
    siginfo_t seen;
    char ready = 0;
    int pipes[2];
    if (pipe(pipes) != 0)
        _exit(77);
    const pid_t rank_pid = getpid();
    (void)prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
    if (fork() == 0) {
        ready = ptrace(PTRACE_SEIZE, rank_pid, NULL, NULL) == 0;
        (void)!write(pipes[1], &ready, 1);
        while (ready && waitid(P_PID, (id_t)rank_pid, &seen, WSTOPPED | WEXITED | WNOWAIT) == 0 &&
               seen.si_code == CLD_TRAPPED)
            (void)ptrace(PTRACE_CONT, rank_pid, NULL, (void *)(uintptr_t)seen.si_status); /* stopped at a signal */
        nanosleep(&half, NULL);
        _exit(0);
    }
    if (read(pipes[0], &ready, 1) != 1 || !ready)
        _exit(77);
}

/* Each with a tag of its own: a call that has failed has nothing to do with the next one. */
static int make(MPI_Session session, MPI_Comm *comm)
{
    static int round;
    char tag[32];
    MPI_Group group;
    snprintf(tag, sizeof(tag), "round %d", round++);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Group_rank(group, &rank);
    const int rc = MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, comm);
    MPI_Group_free(&group);
    return rc;
}

static int round_trip(MPI_Session *session)
{
    MPI_Comm comm;
    int rc = make(*session, &comm);
    if (is("unseen"))
        return rc != MPI_SUCCESS ? rc : MPI_Comm_free(&comm);
    if (rc == MPI_SUCCESS)
        rc = MPI_Barrier(comm);
    if (rc == MPI_SUCCESS)
        rc = MPI_Comm_disconnect(&comm);
    if (rc == MPI_SUCCESS && is("finalize")) {
        MPI_Session_finalize(session);
        *session = session_begin();
    }
    return rc;
}

static void fail(int code)
{
    static int said;
    char text[MPI_MAX_ERROR_STRING];
    int length;
    MPI_Error_string(code, text, &length);
    if (is("unseen")) {
        if (!said)
            printf("rank %d: an error\n", rank);
        fflush(stdout);
        said = 1;
        return;
    }
    fprintf(stderr, "rank %d: %s\n", rank, text);
    _exit(3);
}

int main(int argc, char **argv)
{
    const struct itimerval soon = {.it_value.tv_usec = 20000};
    const char *number = getenv("PMI_RANK");
    const int is_victim = number != NULL && atoi(number) == 1;
    if (argc != 2)
        return 2;
    way = argv[1];
    if (is_victim && is("unseen"))
        hide();
    if (is_victim && is("never"))
        return 0;
    if (is_victim && is("before"))
        raise(SIGKILL);
    if (is_victim && is("slowly"))
        watch();
    MPI_Session session = session_begin();
    if (is_victim && is("leave"))
        _exit(0);
    if (is_victim && is("open"))
        raise(SIGKILL);
    if (is_victim) {
        signal(SIGALRM, kill_itself);
        setitimer(ITIMER_REAL, &soon, NULL);
    }
    for (;;) {
        const int rc = round_trip(&session);
        if (rc != MPI_SUCCESS)
            fail(rc);
    }
}
