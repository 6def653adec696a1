/* SPDX-License-Identifier: Apache-2.0
 * jni_shared.c - natives of workers that several threads drive in turn, one at a time: take over, arm, sleep, call.
 *
 * Who drives the worker owns it. Sleeping needs no ownership: the worker is armed by its owner before, and its descriptor
 * becomes readable when there is something to do. The Java side destroys a worker when nobody sleeps. */
#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "jni_tables.h"
#include "jni_worker.h"

#define NS_PER_S 1000000000LL

static jint native_share(JNIEnv *env, jclass cls, jlong handle)
{
    (void)env;
    (void)cls;
    jni_worker_t *worker = jni_worker_enter(handle);
    if (worker == NULL)
        return jni_last_status();
    for (int i = 0; i < JNI_SLEEPERS; i++) {
        if (worker->calls[i] < 0)
            worker->calls[i] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (worker->calls[i] < 0)
            return jni_status(err_sys(errno, "cannot create an event descriptor for threads that wait for a worker"));
    }
    return VBN_OK;
}

static jint native_take(JNIEnv *env, jclass cls, jlong handle)
{
    (void)env;
    (void)cls;
    return jni_object_take(handle, JNI_WORKER);
}

static jint native_arm(JNIEnv *env, jclass cls, jlong handle)
{
    (void)env;
    (void)cls;
    jni_worker_t *worker = jni_worker_enter(handle);
    if (worker == NULL)
        return jni_last_status();
    vbn_status_t status = worker->first != NULL ? VBN_BUSY : vbn_arm(worker->worker);
    return status < 0 ? jni_status(status) : status == VBN_OK;
}

/* The worker, when it is shared and there is such a sleeper; with a reference. */
static jni_worker_t *shared(jlong handle, jint sleeper)
{
    jni_worker_t *worker = (jni_worker_t *)jni_object_get(handle, JNI_WORKER);
    if (worker != NULL && sleeper >= 0 && sleeper < JNI_SLEEPERS && worker->calls[sleeper] >= 0)
        return worker;
    if (worker != NULL) {
        jni_status(err_set(VBN_ERR_INVALID, "the worker is not shared, or has no sleeper %d", sleeper));
        jni_object_put(&worker->object);
    }
    return NULL;
}

static jint native_sleep(JNIEnv *env, jclass cls, jlong handle, jint sleeper, jlong wait_ns)
{
    (void)env;
    (void)cls;
    uint64_t count;
    jni_worker_t *worker = shared(handle, sleeper);
    if (worker == NULL)
        return jni_last_status();
    struct timespec timeout = {.tv_sec = wait_ns / NS_PER_S, .tv_nsec = wait_ns % NS_PER_S};
    struct pollfd fds[] = {{.fd = vbn_event_fd(worker->worker), .events = POLLIN},
                           {.fd = worker->calls[sleeper], .events = POLLIN}};
    vbn_status_t status = VBN_OK;
    int found = wait_ns <= 0 ? 0 : ppoll(fds, 2, &timeout, NULL);
    if (found < 0 && errno != EINTR)
        status = err_sys(errno, "cannot wait for events of a worker");
    if (found > 0 && fds[1].revents != 0 && read(worker->calls[sleeper], &count, sizeof(count)) < 0 && errno != EAGAIN)
        status = err_sys(errno, "cannot read a call to a sleeper");
    jni_object_put(&worker->object);
    return status < 0 ? jni_status(status) : found > 0;
}

static jint native_call(JNIEnv *env, jclass cls, jlong handle, jint sleeper)
{
    (void)env;
    (void)cls;
    const uint64_t one = 1;
    jni_worker_t *worker = shared(handle, sleeper);
    if (worker == NULL)
        return jni_last_status();
    ssize_t wrote = write(worker->calls[sleeper], &one, sizeof(one));
    (void)wrote; /* EAGAIN: it has been called 2^64-2 times */
    jni_object_put(&worker->object);
    return VBN_OK;
}

const JNINativeMethod jni_shared_methods[] = {
    {"workerShare", "(J)I", (void *)native_share}, {"workerTake", "(J)I", (void *)native_take},
    {"workerArm", "(J)I", (void *)native_arm},     {"workerSleep", "(JIJ)I", (void *)native_sleep},
    {"workerCall", "(JI)I", (void *)native_call},
};
const jint jni_shared_method_count = sizeof(jni_shared_methods) / sizeof(jni_shared_methods[0]);
