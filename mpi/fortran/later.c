/* SPDX-License-Identifier: Apache-2.0
 * later.c - the list of copies that go back when their requests are complete.
 */
#include "later.h"

#include "section.h"

#include <pthread.h>
#include <string.h>

struct later {
    int request;
    bool out;
    bool running; // L1
    section_t section;
    struct later *next;
    descriptor_t shape; // of the section: that of the call ends with it
};

atomic_int fortran_later;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct later *first;

int section_as_later(section_t *section)
{
    if (section->from->base == NULL)
        return MPI_SUCCESS;
    const size_t shape = sizeof(descriptor_t) + (size_t)section->from->rank * sizeof(section->from->dim[0]);
    struct later *later = calloc(1, offsetof(struct later, shape) + shape);
    if (later == NULL)
        return MPI_ERR_NO_MEM;
    memcpy(&later->shape, section->from, shape);
    const int rc = section_as_copy(section);
    if (rc != MPI_SUCCESS) {
        free(later);
        return rc;
    }
    section->later = later;
    return MPI_SUCCESS;
}

void section_leave(section_t *section, bool out, int code, const int *request, bool persistent)
{
    struct later *later = section->later;
    if (later == NULL) {
        section_end(section, out);
        return;
    }
    if (code != MPI_SUCCESS) {
        section_end(section, false);
        free(later);
        return;
    }
    later->request = *request;
    later->out = out;
    later->running = !persistent;
    later->section = *section;
    later->section.from = &later->shape;
    pthread_mutex_lock(&mutex);
    later->next = first;
    first = later;
    atomic_fetch_add_explicit(&fortran_later, 1, memory_order_relaxed);
    pthread_mutex_unlock(&mutex);
}

static void finish(struct later *later)
{
    if (later->running && later->out)
        section_move(&later->section, true);
    later->running = false;
}

void fortran_later_done(int number, MPI_Request request)
{
    int complete = 1;
    if (number == out_Request(MPI_REQUEST_NULL))
        return;
    if (request != MPI_REQUEST_NULL)
        (void)PMPI_Request_get_status(request, &complete, MPI_STATUS_IGNORE);
    if (!complete)
        return;
    pthread_mutex_lock(&mutex);
    for (struct later **at = &first; *at != NULL;) {
        struct later *later = *at;
        if (later->request == number)
            finish(later);
        if (later->request != number || request != MPI_REQUEST_NULL) {
            at = &later->next;
            continue;
        }
        *at = later->next;
        atomic_fetch_sub_explicit(&fortran_later, 1, memory_order_relaxed);
        section_drop(&later->section, false);
        free(later);
    }
    pthread_mutex_unlock(&mutex);
}

void fortran_later_begin(int number)
{
    pthread_mutex_lock(&mutex);
    for (struct later *later = first; later != NULL; later = later->next)
        if (later->request == number) {
            section_move(&later->section, false);
            later->running = true;
        }
    pthread_mutex_unlock(&mutex);
}
