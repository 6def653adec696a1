/* SPDX-License-Identifier: Apache-2.0
 * rival.c - the same message through ucx_perftest, of Debian (ucx-utils) or of a folder (--pypi-ucx): a server and a
 * client on the processors of ours, which rest meanwhile. Its last line of numbers is what counts. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "perf.h"

#define DEBIAN "/usr"
#define PROGRAM "bin/ucx_perftest"
#define RIVAL_S "30" /* no run takes longer */
#define TRIES 40

/* Columns of its lines of numbers. */
enum { ITERATIONS, PERCENTILE, AVERAGE_US, OVERALL_US, AVERAGE_MBS, OVERALL_MBS, AVERAGE_RATE, OVERALL_RATE, COLUMNS };

/* One UCX. Its programs find its libraries by name, where the system may have older ones. */
typedef struct ucx {
    char program[PATH_MAX];
    char libraries[PATH_MAX]; /* empty: those of the system */
} ucx_t;

static ucx_t ucx_of(const char *folder)
{
    ucx_t ucx = {.libraries = ""};
    (void)snprintf(ucx.program, sizeof(ucx.program), "%s/" PROGRAM, folder != NULL ? folder : DEBIAN);
    if (folder != NULL)
        (void)snprintf(ucx.libraries, sizeof(ucx.libraries), "%s/lib", folder);
    return ucx;
}

bool rival_there(const char *folder)
{
    const ucx_t ucx = ucx_of(folder);
    return access(ucx.program, X_OK) == 0;
}

int rival_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &length) != 0)
        fail_system("port of the other program");
    close(fd);
    return ntohs(address.sin_port);
}

pid_t rival_start(const side_t *side, int rank, int out, const char *libraries, char *const arguments[])
{
    (void)fflush(stdout);
    const pid_t own = getpid();
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    end_with(own);
    (void)setenv("UCX_TLS", strcmp(side->transport, "tcp") == 0 ? "tcp" : "posix,sysv,cma", 1);
    (void)setenv("UCX_NET_DEVICES", strcmp(side->transport, "tcp") == 0 ? "lo" : "all", 1);
    (void)setenv("UCX_LOG_LEVEL", "fatal", 1);
    if (libraries[0] != '\0')
        (void)setenv("LD_LIBRARY_PATH", libraries, 1);
    pin(side->cpus[rank]);
    int nowhere = open("/dev/null", O_RDWR);
    (void)dup2(out >= 0 ? out : nowhere, STDOUT_FILENO);
    (void)dup2(nowhere, STDERR_FILENO);
    execv("/usr/bin/timeout", arguments);
    _exit(127);
}

/* Reads the client's output; true when a line with all columns came. */
static bool last_numbers(int fd, double values[COLUMNS])
{
    char line[512];
    bool found = false;
    FILE *in = fdopen(fd, "r");
    while (in != NULL && fgets(line, sizeof(line), in) != NULL) {
        double row[COLUMNS];
        int count = 0;
        char *at = line;
        for (char *end; count < COLUMNS && at != NULL; count++, at = *end == ',' ? end + 1 : NULL) {
            row[count] = strtod(at, &end);
            if (end == at)
                break;
        }
        if (count == COLUMNS) {
            memcpy(values, row, sizeof(row));
            found = true;
        }
    }
    if (in != NULL)
        (void)fclose(in);
    return found;
}

static bool run_client(const side_t *side, ucx_t *ucx, const char *test, const char *port, size_t size, uint64_t count,
                       double values[COLUMNS])
{
    char bytes[32], rounds[32], warm[32];
    int ends[2];
    (void)snprintf(bytes, sizeof(bytes), "%zu", size > 0 ? size : 1);
    (void)snprintf(rounds, sizeof(rounds), "%llu", (unsigned long long)count);
    (void)snprintf(warm, sizeof(warm), "%llu", (unsigned long long)(count / 10 + 1));
    char *arguments[] = {"timeout",    RIVAL_S,
                         ucx->program, "127.0.0.1",
                         "-p",         (char *)(uintptr_t)port,
                         "-t",         (char *)(uintptr_t)test,
                         "-s",         bytes,
                         "-n",         rounds,
                         "-w",         warm,
                         "-f",         "-v",
                         NULL};
    if (pipe2(ends, O_CLOEXEC) != 0)
        fail_system("pipe of ucx_perftest");
    pid_t pid = rival_start(side, 0, ends[1], ucx->libraries, arguments);
    close(ends[1]);
    bool found = last_numbers(ends[0], values);
    int status = 0;
    (void)waitpid(pid, &status, 0);
    return found && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void rival_rest(side_t *side)
{
    raw_command(side, RAW_REST, 0, 0);
}

void rival_rest_end(side_t *side)
{
    atomic_store(&side->shared->ping, 1);
    raw_wait(side);
}

static void rival(side_t *side, const char *folder, const char *test, size_t size, uint64_t count,
                  double values[COLUMNS])
{
    ucx_t ucx = ucx_of(folder);
    char port[16];
    bool good = false;
    rival_rest(side);
    for (int i = 0; i < TRIES && !good; i++) {
        (void)snprintf(port, sizeof(port), "%d", rival_port());
        char *arguments[] = {"timeout", RIVAL_S, ucx.program, "-p", port, NULL};
        pid_t server = rival_start(side, 1, -1, ucx.libraries, arguments);
        usleep(100000u + 50000u * (unsigned)i); /* until it listens */
        good = run_client(side, &ucx, test, port, size, count, values);
        (void)kill(server, SIGTERM);
        (void)waitpid(server, NULL, 0);
    }
    rival_rest_end(side);
    if (good)
        return;
    char text[sizeof(ucx.program) + 64];
    (void)snprintf(text, sizeof(text), "%s printed no numbers; run it by hand to see why", ucx.program);
    fail(text);
}

static double latency(side_t *side, const char *folder, size_t size, uint64_t count)
{
    double values[COLUMNS];
    rival(side, folder, "ucp_am_lat", size, count, values);
    return values[OVERALL_US] * 1e3;
}

static double rate(side_t *side, const char *folder, size_t size, uint64_t count)
{
    double values[COLUMNS];
    rival(side, folder, "ucp_am_bw", size, count, values);
    return values[OVERALL_RATE] * 1e-6;
}

static double bandwidth(side_t *side, const char *folder, size_t size, uint64_t count)
{
    double values[COLUMNS];
    rival(side, folder, "ucp_am_bw", size, count, values);
    return values[OVERALL_MBS] * 1.048576; /* it counts in MiB */
}

double rival_latency(side_t *side, size_t size, uint64_t count)
{
    return latency(side, NULL, size, count);
}

double rival_rate(side_t *side, size_t size, uint64_t count)
{
    return rate(side, NULL, size, count);
}

double rival_bandwidth(side_t *side, size_t size, uint64_t count)
{
    return bandwidth(side, NULL, size, count);
}

double pypi_latency(side_t *side, size_t size, uint64_t count)
{
    return latency(side, side->pypi_ucx, size, count);
}

double pypi_rate(side_t *side, size_t size, uint64_t count)
{
    return rate(side, side->pypi_ucx, size, count);
}

double pypi_bandwidth(side_t *side, size_t size, uint64_t count)
{
    return bandwidth(side, side->pypi_ucx, size, count);
}
