/* SPDX-License-Identifier: Apache-2.0
 * verbs_handles.c - see verbs_handles.h. */
#include "tl/verbs/verbs_handles.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S UINT64_C(1000000000)

void verbs_handle_make(const verbs_port_t *port, verbs_handle_t *handle)
{
    errno = 0;
    handle->ah = port->api->create_ah(port->pd, &handle->attr);
    handle->error = handle->ah != NULL ? 0 : errno;
}

/* ---------------------------------------------------------------------------------------------- helpers */

/* Lock held; let go while the kernel works. */
static void answer_one(verbs_handles_t *handles)
{
    verbs_handle_t *handle = container_of(list_pop(&handles->questions), verbs_handle_t, link);
    handles->waiting--;
    pthread_mutex_unlock(&handles->lock);
    verbs_handle_make(handles->port, handle);
    pthread_mutex_lock(&handles->lock);
    list_append(&handles->answers, &handle->link);
    pthread_cond_broadcast(&handles->answered);
    (void)eventfd_write(handles->event_fd, 1);
}

static void *helper(void *arg)
{
    verbs_handles_t *handles = arg;
    pthread_mutex_lock(&handles->lock);
    while (!handles->stop) {
        if (!list_empty(&handles->questions)) {
            answer_one(handles);
            continue;
        }
        handles->idle++;
        pthread_cond_wait(&handles->asked, &handles->lock);
        handles->idle--;
    }
    pthread_mutex_unlock(&handles->lock);
    return NULL;
}

/* Lock held. The program's signals are for the program's threads. */
static void start_helper(verbs_handles_t *handles)
{
    sigset_t all, before;
    sigfillset(&all);
    if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0)
        return;
    handles->threads += pthread_create(&handles->thread[handles->threads], NULL, helper, handles) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* ------------------------------------------------------------------------------------------ open, close */

void verbs_handles_open(verbs_handles_t *handles, const verbs_port_t *port)
{
    pthread_condattr_t clock;
    memset(handles, 0, sizeof(*handles));
    handles->port = port;
    handles->event_fd = -1;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_mutex_init(&handles->lock, NULL);
    pthread_cond_init(&handles->asked, NULL);
    pthread_cond_init(&handles->answered, &clock);
    pthread_condattr_destroy(&clock);
    list_init(&handles->questions);
    list_init(&handles->answers);
}

void verbs_handles_close(verbs_handles_t *handles)
{
    pthread_mutex_lock(&handles->lock);
    handles->stop = true;
    pthread_cond_broadcast(&handles->asked);
    pthread_mutex_unlock(&handles->lock);
    for (unsigned i = 0; i < handles->threads; i++)
        pthread_join(handles->thread[i], NULL);
    pthread_cond_destroy(&handles->answered);
    pthread_cond_destroy(&handles->asked);
    pthread_mutex_destroy(&handles->lock);
    if (handles->event_fd >= 0)
        close(handles->event_fd);
}

/* ------------------------------------------------------------------------------- the interface's thread */

static bool ready(verbs_handles_t *handles, const verbs_cq_t *cq)
{
    if (handles->event_fd >= 0)
        return true;
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (fd >= 0 && verbs_cq_watch(cq, fd) < 0) {
        close(fd);
        fd = -1;
    }
    handles->event_fd = fd;
    return fd >= 0;
}

void verbs_handles_ask(verbs_handles_t *handles, const verbs_cq_t *cq, verbs_handle_t *handle)
{
    bool works = ready(handles, cq);
    list_init(&handle->link);
    handles->open++;
    pthread_mutex_lock(&handles->lock);
    if (works && handles->waiting >= handles->idle && handles->threads < VERBS_HELPERS)
        start_helper(handles);
    works = works && handles->threads > 0;
    if (works) {
        list_append(&handles->questions, &handle->link);
        handles->waiting++;
        pthread_cond_signal(&handles->asked);
    }
    pthread_mutex_unlock(&handles->lock);
    if (works)
        return;
    verbs_handle_make(handles->port, handle);
    list_append(&handles->answers, &handle->link); /* no helper has ever seen the list */
}

void verbs_handles_wait(verbs_handles_t *handles, uint64_t ns)
{
    struct timespec until;
    int error = 0;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)((ns + (uint64_t)until.tv_nsec) / NS_PER_S);
    until.tv_nsec = (long)((ns + (uint64_t)until.tv_nsec) % NS_PER_S);
    pthread_mutex_lock(&handles->lock);
    while (list_empty(&handles->answers) && error == 0)
        error = pthread_cond_timedwait(&handles->answered, &handles->lock, &until);
    pthread_mutex_unlock(&handles->lock);
}

verbs_handle_t *verbs_handles_answer(verbs_handles_t *handles)
{
    eventfd_t count;
    pthread_mutex_lock(&handles->lock);
    list_link_t *link = list_pop(&handles->answers);
    if (link == NULL && handles->event_fd >= 0)
        (void)eventfd_read(handles->event_fd, &count); /* with the lock: no answer comes in between */
    pthread_mutex_unlock(&handles->lock);
    if (link == NULL)
        return NULL;
    handles->open--;
    return container_of(link, verbs_handle_t, link);
}
