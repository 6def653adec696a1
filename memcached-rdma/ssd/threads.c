/* SPDX-License-Identifier: Apache-2.0
 * threads.c - threads that read for all readers, each one record after the other. */
#include "ssd/threads.h"

#include <stdlib.h>

typedef struct job {
    list_link_t link;
    disk_reader_t *reader;
    disk_read_t *read;
    threads_finish_t finish;
} job_t;

typedef struct disk_threads {
    pthread_t threads[DISK_THREADS_MAX];
    unsigned count;
    pthread_mutex_t lock;
    pthread_cond_t come;
    list_link_t jobs;
    bool stop;
} disk_threads_t;

static job_t *next_job(disk_threads_t *threads)
{
    pthread_mutex_lock(&threads->lock);
    while (list_empty(&threads->jobs) && !threads->stop)
        pthread_cond_wait(&threads->come, &threads->lock);
    list_link_t *link = list_pop(&threads->jobs);
    pthread_mutex_unlock(&threads->lock);
    return link == NULL ? NULL : container_of(link, job_t, link);
}

static void *main_of(void *arg)
{
    disk_threads_t *threads = arg;
    for (job_t *job = next_job(threads); job != NULL; job = next_job(threads)) {
        disk_read_t *read = job->read;
        job->finish(job->reader, read, read_whole(read->fd, read->buffer, read->bytes, (off_t)read->at));
        free(job);
    }
    return NULL;
}

/* NULL: not even one can be started. */
static disk_threads_t *start(unsigned wanted)
{
    disk_threads_t *threads = calloc(1, sizeof(*threads));
    if (threads == NULL)
        return NULL;
    pthread_mutex_init(&threads->lock, NULL);
    pthread_cond_init(&threads->come, NULL);
    list_init(&threads->jobs);
    while (threads->count < wanted && pthread_create(&threads->threads[threads->count], NULL, main_of, threads) == 0)
        (void)pthread_setname_np(threads->threads[threads->count++], "mc-disk-read"); /* as top -H shows them */
    if (threads->count > 0)
        return threads;
    pthread_cond_destroy(&threads->come);
    pthread_mutex_destroy(&threads->lock);
    free(threads);
    return NULL;
}

unsigned threads_open(disk_t *disk)
{
    pthread_mutex_lock(&disk->lock);
    if (disk->threads == NULL)
        disk->threads = start(disk->threads_wanted);
    unsigned count = disk->threads == NULL ? 0 : disk->threads->count;
    pthread_mutex_unlock(&disk->lock);
    return count;
}

void threads_close(disk_t *disk)
{
    disk_threads_t *threads = disk->threads;
    if (threads == NULL)
        return;
    pthread_mutex_lock(&threads->lock);
    threads->stop = true;
    pthread_cond_broadcast(&threads->come);
    pthread_mutex_unlock(&threads->lock);
    while (threads->count > 0)
        (void)pthread_join(threads->threads[--threads->count], NULL);
    pthread_cond_destroy(&threads->come);
    pthread_mutex_destroy(&threads->lock);
    free(threads);
    disk->threads = NULL;
}

void threads_read(disk_t *disk, disk_reader_t *reader, disk_read_t *read, threads_finish_t finish)
{
    disk_threads_t *threads = disk->threads;
    job_t *job = malloc(sizeof(*job));
    if (job == NULL) {
        finish(reader, read, read_whole(read->fd, read->buffer, read->bytes, (off_t)read->at));
        return;
    }
    *job = (job_t){.reader = reader, .read = read, .finish = finish};
    pthread_mutex_lock(&threads->lock);
    list_append(&threads->jobs, &job->link);
    pthread_cond_signal(&threads->come);
    pthread_mutex_unlock(&threads->lock);
}
