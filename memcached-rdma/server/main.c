/* SPDX-License-Identifier: Apache-2.0
 * main.c - start and end of the server. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "server/login.h"
#include "server/options.h"
#include "server/server.h"
#include "server/shelf.h"
#include "server/tls.h"
#include "server/warm.h"

#define OTHER_DESCRIPTORS 192u /* besides those of clients and threads */
#define THREAD_DESCRIPTORS 16u

static bool fail(const char *what, const char *cure)
{
    fprintf(stderr, "verbena-memcached: %s: %s; %s\n", what, strerror(errno), cure);
    return false;
}

/* Raises the soft limit, and the hard one where this process may. Returns how many descriptors there are now. */
static rlim_t raise_descriptors(rlim_t wanted)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted)
        return wanted;
    rlim_t hard = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &(struct rlimit){.rlim_cur = wanted, .rlim_max = hard < wanted ? wanted : hard}) == 0)
        return wanted;
    return setrlimit(RLIMIT_NOFILE, &(struct rlimit){.rlim_cur = hard, .rlim_max = hard}) == 0 ? hard : limit.rlim_cur;
}

/* A client by messages takes two descriptors, any other one. Where there are too few for -c, fewer connections are admitted. */
static bool limit_connections(settings_t *settings)
{
    rlim_t other = OTHER_DESCRIPTORS + THREAD_DESCRIPTORS * settings->threads;
    rlim_t wanted = settings->connections_max + other;
    rlim_t got = raise_descriptors(wanted + settings->connections_max);
    if (got >= wanted)
        return true;
    unsigned fit = got > other ? (unsigned)(got - other) : 0;
    fprintf(stderr,
            "verbena-memcached: -c %u takes %llu descriptors, and the hard limit is %llu: %s%.0u%s; raise ulimit -Hn "
            "(LimitNOFILE= of a systemd unit), start as root, or lower -c\n",
            settings->connections_max, (unsigned long long)wanted, (unsigned long long)got,
            fit > 0 ? "only " : "no connection can be served", fit, fit > 0 ? " connections are admitted" : "");
    settings->connections_max = fit;
    return fit > 0;
}

static bool set_limits(settings_t *settings)
{
    struct rlimit limit;
    if (!limit_connections(settings))
        return false;
    if (settings->core_dumps) {
        limit = (struct rlimit){.rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY};
        if (setrlimit(RLIMIT_CORE, &limit) != 0)
            return fail("cannot raise the core file limit", "leave -r out or start as root");
    }
    /* So that a process that is no longer root may lock as much as it has. Without root the limit stays as it is. */
    if (settings->lock_memory)
        (void)setrlimit(RLIMIT_MEMLOCK, &(struct rlimit){.rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY});
    return true;
}

/* A child of fork has no memory locked, so a daemon does it again; whoever starts it is told before that it cannot be done. */
static bool lock_memory(const settings_t *settings)
{
    if (settings->lock_memory && mlockall(MCL_CURRENT | MCL_FUTURE) != 0)
        return fail("cannot lock memory", "raise ulimit -l or leave -k out");
    return true;
}

static bool drop_root(const settings_t *settings)
{
    if (geteuid() != 0)
        return true;
    errno = 0;
    if (settings->user == NULL || *settings->user == '\0') {
        fprintf(stderr, "verbena-memcached: can't run as root without the -u switch\n");
        return false;
    }
    const struct passwd *user = getpwnam(settings->user);
    if (user == NULL) {
        fprintf(stderr, "verbena-memcached: can't find the user %s to switch to\n", settings->user);
        return false;
    }
    if (user->pw_uid == 0)
        return true;
    if (setgroups(0, NULL) != 0 || setgid(user->pw_gid) != 0 || setuid(user->pw_uid) != 0)
        return fail("cannot become the user of -u", "start as root");
    return true;
}

/* A daemon is in /, and the key file is where it was named. */
static bool fix_key_path(server_t *server)
{
    char here[sizeof(server->key_path)];
    const char *file = server->settings.key_file;
    if (file == NULL || *file == '/')
        return true;
    if (getcwd(here, sizeof(here)) == NULL)
        return fail("cannot tell this folder", "give the key file by its whole path");
    int length = snprintf(server->key_path, sizeof(server->key_path), "%s/%s", here, file);
    errno = ENAMETOOLONG;
    if (length >= (int)sizeof(server->key_path))
        return fail("key file", "give one with a shorter path");
    server->settings.key_file = server->key_path;
    return true;
}

/* Goes to the background. The parent ends here. The line of the start still goes to where the daemon was started. */
static bool become_daemon(server_t *server)
{
    const settings_t *settings = &server->settings;
    pid_t child = fork();
    if (child < 0)
        return fail("cannot fork", "see ulimit -u");
    if (child > 0)
        _exit(0);
    if (!fix_key_path(server))
        return false;
    if (setsid() < 0)
        return fail("setsid", "start without -d");
    if (!settings->core_dumps && chdir("/") != 0)
        return fail("cannot change to /", "start without -d");
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0 || settings->verbosity > 0)
        return true;
    server->greeting = fcntl(2, F_DUPFD_CLOEXEC, 3);
    return dup2(null, 0) >= 0 && dup2(null, 1) >= 0 && dup2(null, 2) >= 0;
}

static void write_pid(const settings_t *settings)
{
    FILE *file = settings->pid_file == NULL ? NULL : fopen(settings->pid_file, "w");
    if (file == NULL) {
        if (settings->pid_file != NULL)
            (void)fail("cannot write the file of -P", "the server runs without the file");
        return;
    }
    fprintf(file, "%ld\n", (long)getpid());
    (void)fclose(file);
}

/* Signals come by a descriptor of the main thread. */
static void block_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGHUP); /* as memcached, which reads its files again */
    (void)pthread_sigmask(SIG_BLOCK, &set, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN); /* a file at the limit of ulimit -f is a full disk, and no reason to end */
}

static void on_evicted(void *arg, const store_hit_t *hit)
{
    watch_eviction(arg, hit);
}

static bool open_store(server_t *server)
{
    const settings_t *settings = &server->settings;
    store_config_t config = {.bytes = settings->memory_bytes,
                             .item_max = settings->item_max,
                             .shards = settings->threads,
                             .pinned_percent = settings->pinned_percent,
                             .evict = settings->evict,
                             .source = memory_source(server),
                             .now = clock_now,
                             .now_arg = server,
                             .evicted = on_evicted,
                             .evicted_arg = server,
                             .shelf = shelf_of(server),
                             .started_ns = server->started_ns,
                             .cas_shown = settings->cas};
    store_status_t status = store_open(&config, &server->store);
    if (status == STORE_OK)
        return true;
    log_line(server, 0, "cannot open a store of %zu MiB: %s", settings->memory_bytes >> 20,
             status == STORE_TOO_LARGE ? "more than references can address; lower -m" : "no memory; lower -m");
    return false;
}

static bool serve(server_t *server)
{
    unsigned started = 0;
    bool ready = true;
    while (ready && started < server->settings.threads) {
        ready = worker_start(server, started);
        started += ready;
        server->worker_count = started;
    }
    bool shelves = ready && shelf_start(server);
    ready = shelves;
    if (ready)
        warm_load(server);
    ready = ready && house_start(server);
    if (ready) {
        write_pid(&server->settings);
        atomic_set_relaxed(&server->connections_total, server->listener_count);
        listen_run(server);
        house_stop(server);
        if (server->settings.pid_file != NULL)
            (void)unlink(server->settings.pid_file);
    }
    for (unsigned i = 0; i < started; i++)
        worker_stop(&server->workers[i]);
    if (shelves)
        shelf_stop(server);
    if (ready)
        warm_save(server);
    return ready;
}

static bool run(server_t *server)
{
    server->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    bool served = listen_open(server) && open_store(server) && serve(server); /* the port names the default key */
    store_close(server->store);
    shelf_close(server);
    memory_close(server);
    listen_close(server);
    login_close(server);
    tls_close(server);
    (void)close(server->stop);
    return served;
}

int main(int argc, char **argv)
{
    static server_t server;
    options_result_t result = options_read(argc, argv, &server.settings);
    if (result != OPTIONS_RUN)
        return result == OPTIONS_DONE ? 0 : 64;
    settings_t *settings = &server.settings;
    server.greeting = -1;
    atomic_set_relaxed(&server.verbosity, settings->verbosity);
    atomic_set_relaxed(&server.sizes_enabled, settings->track_sizes);
    atomic_set_relaxed(&server.memory_limit, settings->memory_bytes);
    if (!warm_open(&server) || !shelf_open(&server) || !login_open(&server) || !tls_open(&server) ||
        !set_limits(settings) || !drop_root(settings) || !lock_memory(settings))
        return 71;
    if (settings->daemon && (!become_daemon(&server) || !lock_memory(settings)))
        return 71;
    block_signals();
    clock_start(&server);
    server.watch = watch_open();
    server.detail = detail_open(settings->delimiter, settings->detail);
    if (server.watch == NULL || server.detail == NULL)
        return 71;
    return run(&server) ? 0 : 71;
}
