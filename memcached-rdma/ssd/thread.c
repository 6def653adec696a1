/* SPDX-License-Identifier: Apache-2.0
 * thread.c - the thread that reads for all readers, one record after the other. */
#include "ssd/thread.h"

#include <stdlib.h>

typedef struct job {
    list_link_t link;
    disk_reader_t *reader;
    disk_read_t *read;
    thread_finish_t finish;
} job_t;

typedef struct disk_thread {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t come;
    list_link_t jobs;
    bool stop;
} disk_thread_t;

static job_t *next_job(disk_thread_t *thread)
{
    pthread_mutex_lock(&thread->lock);
    while (list_empty(&thread->jobs) && !thread->stop)
        pthread_cond_wait(&thread->come, &thread->lock);
    list_link_t *link = list_pop(&thread->jobs);
    pthread_mutex_unlock(&thread->lock);
    return link == NULL ? NULL : container_of(link, job_t, link);
}

static void *main_of(void *arg)
{
    disk_thread_t *thread = arg;
    for (job_t *job = next_job(thread); job != NULL; job = next_job(thread)) {
        disk_read_t *read = job->read;
        job->finish(job->reader, read, read_whole(read->fd, read->buffer, read->bytes, (off_t)read->at));
        free(job);
    }
    return NULL;
}

static disk_thread_t *start(void)
{
    disk_thread_t *thread = calloc(1, sizeof(*thread));
    if (thread == NULL)
        return NULL;
    pthread_mutex_init(&thread->lock, NULL);
    pthread_cond_init(&thread->come, NULL);
    list_init(&thread->jobs);
    if (pthread_create(&thread->thread, NULL, main_of, thread) == 0) {
        (void)pthread_setname_np(thread->thread, "mc-disk-read"); /* as top -H shows it */
        return thread;
    }
    free(thread);
    return NULL;
}

bool thread_open(disk_t *disk)
{
    pthread_mutex_lock(&disk->lock);
    if (disk->thread == NULL)
        disk->thread = start();
    bool runs = disk->thread != NULL;
    pthread_mutex_unlock(&disk->lock);
    return runs;
}

void thread_close(disk_t *disk)
{
    disk_thread_t *thread = disk->thread;
    if (thread == NULL)
        return;
    pthread_mutex_lock(&thread->lock);
    thread->stop = true;
    pthread_cond_signal(&thread->come);
    pthread_mutex_unlock(&thread->lock);
    (void)pthread_join(thread->thread, NULL);
    pthread_cond_destroy(&thread->come);
    pthread_mutex_destroy(&thread->lock);
    free(thread);
    disk->thread = NULL;
}

void thread_read(disk_t *disk, disk_reader_t *reader, disk_read_t *read, thread_finish_t finish)
{
    disk_thread_t *thread = disk->thread;
    job_t *job = malloc(sizeof(*job));
    if (job == NULL) {
        finish(reader, read, read_whole(read->fd, read->buffer, read->bytes, (off_t)read->at));
        return;
    }
    *job = (job_t){.reader = reader, .read = read, .finish = finish};
    pthread_mutex_lock(&thread->lock);
    list_append(&thread->jobs, &job->link);
    pthread_cond_signal(&thread->come);
    pthread_mutex_unlock(&thread->lock);
}
