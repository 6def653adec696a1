/* SPDX-License-Identifier: Apache-2.0
 * rt.c - opening and closing the runtime: launcher, job key, context, worker, address.
 */
#include "rt/rt.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "rt/keeper.h"
#include "rt/node.h"

#define EXIT_WELL 256  /* as exit code a 0, but seen as a wish: LAUNCH_ALL_WELL */
#define ABORT_MS 2000 /* that a launcher may take to end the job */

rt_t rt;

int rt_fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(rt.error, sizeof(rt.error), format, arguments);
    va_end(arguments);
    return -1;
}

void rt_key_name(char *name, size_t capacity, const char *what, int rank)
{
    const int length = snprintf(name, capacity, "%s%d", what, rank);
    if (rt.opened > 0)
        snprintf(name + length, capacity - (size_t)length, ".%d", rt.opened);
}

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
    return status;
}

/* Lines of the core, with the rank they come from. When all leave, peers go one by one: that is no news. */
static void on_log(void *arg, const vbn_log_record_t *record)
{
    (void)arg;
    if (!(rt.leaving && record->category == VBN_LOG_PEER_LOST))
        fprintf(stderr, "rank %d of %d: %s\n", rt.rank, rt.size, record->text);
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
    if (pmi_put_bytes(&rt.pmi, key, address, length) != 0)
        return rt_fail("own address: %s", rt.pmi.error);
    if (rt_node_publish() != 0)
        return -1;
    return pmi_fence(&rt.pmi) == 0 ? 0 : rt_fail("own address: %s", rt.pmi.error);
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
    if (rt.worker != NULL)
        vbn_worker_destroy(rt.worker);
    rt_node_close();
    if (rt.context != NULL)
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
    return rt.users == 0 ? threads() : threads() - rt.own_threads - rt_keeper_runs();
}

int rt_acquire(void)
{
    if (rt.users > 0) {
        rt.users++;
        return 0;
    }
    const int before = threads();
    rt.leaving = 0;
    if (pmi_open(&rt.pmi) != 0)
        return rt_fail("%s", rt.pmi.error);
    rt.rank = rt.pmi.rank;
    rt.size = rt.pmi.size;
    if (open_core() != 0 || rt_processes_open() != 0 || publish_address() != 0) {
        close_core();
        return -1;
    }
    choose_waits();
    rt.own_threads = threads() - before;
    rt.users = 1;
    return 0;
}

/* Everybody keeps progressing until all have arrived here: a flush needs its peer's answer. */
static int leave_together(void)
{
    vbn_op_t op = {0};
    rt_wait_t wait = RT_WAIT;
    int done;
    while (rt.deferred != NULL)
        rt_wait_step(&wait);
    const vbn_status_t status = vbn_flush_all(rt.worker, &op);
    while (status == VBN_INPROGRESS && op.complete == 0)
        rt_wait_step(&wait);
    rt.leaving = 1; /* everything sent by this rank has arrived */
    if (rt.pmi.ops->fence_start(&rt.pmi) != 0)
        return rt_fail("end of the job: %s", rt.pmi.error);
    wait.fd = rt.pmi.fd;
    while ((done = rt.pmi.ops->fence_test(&rt.pmi)) == 0)
        rt_wait_step(&wait);
    return done > 0 ? 0 : rt_fail("end of the job: %s", rt.pmi.error);
}

int rt_release(void)
{
    if (--rt.users > 0)
        return 0;
    const int rc = leave_together();
    close_core();
    rt.opened++;
    if (pmi_close(&rt.pmi) != 0 && rc == 0)
        return rt_fail("end of the job: %s", rt.pmi.error);
    return rc;
}

void rt_abort(int code)
{
    (void)fflush(NULL);
    if (rt.pmi.ops != NULL)
        rt.pmi.ops->abort(&rt.pmi, code);
    if (rt.pmi.fd >= 0) { /* the launcher ends all ranks at once; who went before it would be missed by the others */
        struct pollfd entry = {.fd = rt.pmi.fd, .events = POLLRDHUP};
        (void)poll(&entry, 1, ABORT_MS);
    }
    _exit(code & 255);
}

void rt_exit_job(int code)
{
    rt_abort((code & 255) == 0 ? EXIT_WELL : code & 255);
}
