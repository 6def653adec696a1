/* SPDX-License-Identifier: Apache-2.0
 * rt.c - opening and closing the runtime: launcher, job key, context, worker, address.
 */
#include "rt/rt.h"

#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "rt/heap.h"
#include "rt/keeper.h"
#include "rt/memory.h"
#include "rt/node.h"

#define ALONE "vbn-s" /* a key of the launcher's space: a rank has called rt_acquire_alone */

rt_t rt;

static int random_key(uint8_t *key)
{
    if (getrandom(key, VBN_JOB_KEY_BYTES, 0) != VBN_JOB_KEY_BYTES)
        return rt_fail("job key: the kernel gives no random numbers: %s", strerror(errno));
    return 0;
}

/* Under a foreign launcher the key is as secret as that launcher's key-value space (docs/mpi.md). */
static int key_by_launcher(uint8_t *key)
{
    size_t length = VBN_JOB_KEY_BYTES;
    char name[32];
    rt_key_name(name, sizeof(name), "vbn-key", 0);
    if (rt.rank == 0 && (random_key(key) != 0 || pmi_put_bytes(&rt.pmi, name, key, length) != 0))
        return rt_fail("job key: %s", rt.pmi.error);
    if (pmi_fence(&rt.pmi) != 0)
        return rt_fail("job key: %s", rt.pmi.error);
    if (rt.rank != 0 && pmi_get_bytes(&rt.pmi, name, key, &length) != 0)
        return rt_fail("job key: %s", rt.pmi.error);
    return length == VBN_JOB_KEY_BYTES ? 0 : rt_fail("job key: the launcher gives %zu bytes", length);
}

static int job_key(uint8_t *key)
{
    const char *fd = getenv("VERBENA_KEY_FD");
    if (fd != NULL && rt.pmi.fd >= 0) {
        if (pread(atoi(fd), key, VBN_JOB_KEY_BYTES, 0) != VBN_JOB_KEY_BYTES)
            return rt_fail("job key: descriptor %s of mpiexec cannot be read: %s", fd, strerror(errno));
        return 0;
    }
    return rt.size == 1 ? random_key(key) : key_by_launcher(key);
}

/* A rank that computes answers nobody: its peers wait for it as long as they may. On one node devices are not
 * needed. */
static vbn_status_t configure(vbn_config_t *config)
{
    vbn_status_t status = vbn_config_prefer(config, "link.wireup_timeout", "10min");
    if (status == VBN_OK && rt.pmi.local_size == rt.size)
        status = vbn_config_prefer(config, "tl.enable", "self,shm,tcp");
    if (status == VBN_OK && rt.size > 64)
        status = vbn_config_prefer(config, "tl.tcp.max_unauthenticated", "1024");
    if (status == VBN_OK) /* pieces of large messages, which a processor copies at its full speed */
        status = vbn_config_prefer(config, "tl.shm.chunk_bytes", "32K");
    if (status == VBN_OK)
        status = vbn_config_prefer(config, "tl.shm.chunks", "5");
    /* A window of 64 messages finds free slots, although a quarter of the slots that were read may not be given back yet. */
    return status == VBN_OK ? vbn_config_prefer(config, "tl.shm.ring_slots", "128") : status;
}

/* Lines of the core, with the rank they come from. When all leave, peers go one by one: that is no news. */
static void on_log(void *arg, const vbn_log_record_t *record)
{
    (void)arg;
    if (!(rt.leaving && record->category == VBN_LOG_PEER_LOST))
        rt_say("rank %d of %d: %s", rt.rank, rt.size, record->text);
}

static int open_core(void)
{
    uint8_t key[VBN_JOB_KEY_BYTES];
    vbn_config_t *config;
    if (job_key(key) != 0)
        return -1;
    vbn_status_t status = vbn_config_create(&config);
    if (status != VBN_OK)
        return rt_fail("%s", vbn_error_text());
    vbn_config_set_log(config, on_log, NULL);
    if ((status = configure(config)) == VBN_OK && (status = vbn_config_set_job_key(config, key)) == VBN_OK &&
        (status = vbn_open(config, &rt.context)) == VBN_OK)
        status = vbn_worker_create(rt.context, &rt.worker);
    if (status != VBN_OK)
        (void)rt_fail("%s", vbn_error_text());
    vbn_config_destroy(config);
    if (status == VBN_OK)
        rt_heap_open();
    return status == VBN_OK ? 0 : -1;
}

static int publish_address(void)
{
    unsigned char address[VBN_ADDRESS_MAX];
    size_t length = sizeof(address);
    char key[32];
    if (vbn_worker_address(rt.worker, address, &length) != VBN_OK)
        return rt_fail("own address: %s", vbn_error_text());
    rt_key_name(key, sizeof(key), "vbn-a", rt.rank);
    if (rt_node_publish() != 0)
        return -1;
    /* the last thing that is put: who sees it sees all (rt_await) */
    return pmi_put_bytes(&rt.pmi, key, address, length) == 0 ? 0 : rt_fail("own address: %s", rt.pmi.error);
}

/* mpiexec shows at once what is put; other launchers from the next fence on. */
static int shows_at_once(void)
{
    return rt.size == 1 || (getenv("VERBENA_KEY_FD") != NULL && rt.pmi.fd >= 0);
}

/* Others may need answers of this rank before they come here. */
static int fence(const char *what)
{
    rt_wait_t wait = RT_WAIT;
    int done;
    if (rt.pmi.ops->fence_start(&rt.pmi) != 0)
        return rt_fail("%s: %s", what, rt.pmi.error);
    wait.fd = rt.pmi.fd;
    while ((done = rt.pmi.ops->fence_test(&rt.pmi)) == 0)
        rt_wait_step(&wait);
    return done > 0 ? 0 : rt_fail("%s: %s", what, rt.pmi.error);
}

static int meet(void)
{
    if (!rt.fenced && fence("start of the job") != 0)
        return -1;
    rt.fenced = 1;
    return 0;
}

static void choose_waits(void)
{
    cpu_set_t allowed;
    const int processors = sched_getaffinity(0, sizeof(allowed), &allowed) == 0 ? CPU_COUNT(&allowed) : 1;
    const char *ranks = getenv("VERBENA_HOST_RANKS"); /* several hosts of the job may be this one */
    const int here = ranks == NULL ? 0 : atoi(ranks);
    rt.oversubscribed = (here > rt.pmi.local_size ? here : rt.pmi.local_size) > processors;
    if (vbn_setting(rt.context, "progress.spin", NULL, 0, &rt.spin_ns) != VBN_OK)
        rt.spin_ns = 20000;
}

static void close_core(void)
{
    rt_heap_leave();
    if (rt.worker != NULL)
        vbn_worker_destroy(rt.worker);
    rt_heap_close();
    const int stays = rt_memory_close(); /* the program's memory outlives the runtime */
    if ((stays & RT_MEMORY_NODE) != 0)
        rt_node.mem = NULL;
    rt_node_close();
    if (rt.context != NULL && (stays & RT_MEMORY_CONTEXT) == 0)
        (void)vbn_close(rt.context);
    rt.worker = NULL;
    rt.context = NULL;
    rt_processes_close();
}

static int threads(void)
{
    int count = 0;
    DIR *folder = opendir("/proc/self/task");
    for (const struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;)
        count += entry->d_name[0] != '.';
    if (folder != NULL)
        closedir(folder);
    return count;
}

int rt_threads_of_program(void)
{
    return rt.context == NULL ? threads() : threads() - rt.own_threads - rt_keeper_runs();
}

static int open_anew(void)
{
    const int before = threads();
    rt.rank = rt.pmi.rank;
    rt.size = rt.pmi.size;
    rt.fenced = 0;
    if (open_core() != 0 || rt_processes_open() != 0 || publish_address() != 0) {
        close_core();
        return -1;
    }
    choose_waits();
    rt.own_threads = threads() - before;
    return 0;
}

static int open_for_first(void)
{
    rt.leaving = 0;
    if (rt.kept)
        rt_keeper_stop(); /* rt_threads_open starts the one of users */
    if (!(rt.kept && rt.stays) && pmi_open(&rt.pmi) != 0)
        return rt_fail("%s", rt.pmi.error);
    if (rt.kept) {
        rt.kept = 0;
        return 0;
    }
    return open_anew();
}

static int open_and_meet(int meets)
{
    const int is_first = rt.users == 0;
    if (is_first && open_for_first() != 0)
        return -1;
    if (meets && meet() != 0) {
        if (is_first)
            close_core();
        return -1;
    }
    rt.users++;
    return 0;
}

int rt_acquire(void)
{
    if (open_and_meet(1) != 0)
        return -1;
    rt.together++;
    return 0;
}

/* Says to all that a rank uses a part of the job only. Each rank may say it: the first one does. */
static void mark_alone(void)
{
    char key[32];
    rt_key_name(key, sizeof(key), ALONE, 0);
    if (shows_at_once() && rt.pmi.ops->has(&rt.pmi, key) == 0)
        (void)rt.pmi.ops->put(&rt.pmi, key, "1"); /* refused: another rank came first */
}

/* The same at all ranks after a fence: whether a rank has said so. Where nobody can ask that, as if one had. */
static int is_marked_alone(void)
{
    char key[32];
    rt_key_name(key, sizeof(key), ALONE, 0);
    return rt.size > 1 && (!shows_at_once() || rt.pmi.ops->has(&rt.pmi, key) != 0);
}

int rt_acquire_alone(void)
{
    if (open_and_meet(getenv("VERBENA_KEY_FD") == NULL) != 0)
        return -1;
    mark_alone();
    rt.stays = !shows_at_once(); /* others take nobody back who has left them */
    return 0;
}

void rt_flush(void)
{
    vbn_op_t op = {0};
    rt_wait_t wait = RT_WAIT;
    while (rt.deferred != NULL)
        rt_wait_step(&wait);
    const vbn_status_t status = vbn_flush_all(rt.worker, &op);
    while (status == VBN_INPROGRESS && op.complete == 0)
        rt_wait_step(&wait);
}

/* Everybody keeps progressing until all have arrived here: a flush needs its peer's answer. */
static int leave_together(void)
{
    rt_flush();
    rt.leaving = rt.users == 1; /* everything sent by this rank has arrived */
    return fence("end of the job");
}

static int leave_launcher(int rc)
{
    if (pmi_close(&rt.pmi) != 0 && rc == 0)
        return rt_fail("end of the job: %s", rt.pmi.error);
    return rc;
}

static pid_t opener; /* a child of fork() leaves all as it is */

/* The process ends: those that go on see an orderly end of its connections. */
static void close_at_exit(void)
{
    if (!rt.kept || getpid() != opener)
        return;
    rt_keeper_stop();
    rt.leaving = 1;
    rt_processes_leave();
    close_core();
    if (rt.stays)
        (void)pmi_close(&rt.pmi);
    rt.kept = 0;
}

/* Open without users: others may still wait for the answer to a flush, or begin something with this rank before it does. */
static int keep_open(int rc)
{
    static int registered;
    opener = getpid();
    if (!registered)
        registered = atexit(close_at_exit) == 0;
    rc = rt.stays ? rc : leave_launcher(rc); /* before the keeper, which looks whether the launcher is there */
    rt.kept = 1;
    return rt.size > 1 && rt_keeper_start() != 0 ? -1 : rc;
}

static int end(int keeps, int rc)
{
    if (keeps)
        return keep_open(rc);
    close_core();
    rt.opened++;
    return leave_launcher(rc);
}

int rt_part(void)
{
    if (rt.together > 1 || rt.parted)
        return 0;
    rt.parted = 1;
    return leave_together();
}

int rt_release(void)
{
    const int rc = rt_part();
    rt.parted = 0;
    rt.together--;
    return --rt.users > 0 ? rc : end(is_marked_alone(), rc);
}

int rt_release_alone(void)
{
    if (--rt.users > 0)
        return 0;
    rt_flush();
    rt.leaving = 1;
    return end(rt.size > 1, 0);
}
