/* SPDX-License-Identifier: Apache-2.0
 * jni_event.c - events on their way to Java: to the page, or into the list of waiting ones. */
#include <stdlib.h>
#include <string.h>

#include "jni_worker.h"

bool jni_event_write(jni_worker_t *worker, page_event_t *event, const void *first, size_t first_bytes,
                     const void *second, size_t second_bytes)
{
    size_t needed = (first_bytes + second_bytes + 7) & ~(size_t)7;
    if (worker->event_count >= worker->event_limit || needed > worker->receive_bytes - worker->receive_used)
        return false;
    event->receive_offset = worker->receive_used;
    uint8_t *to = worker->receive + worker->receive_used;
    if (first_bytes > 0)
        memcpy(to, first, first_bytes);
    if (second_bytes > 0)
        memcpy(to + first_bytes, second, second_bytes);
    worker->receive_used += (uint32_t)needed;
    worker->events[worker->event_count++] = *event;
    return true;
}

void jni_event_queue(jni_worker_t *worker, jni_event_t *event)
{
    event->next = NULL;
    if (worker->last == NULL)
        worker->first = event;
    else
        worker->last->next = event;
    worker->last = event;
}

bool jni_event_drain(jni_worker_t *worker)
{
    while (worker->first != NULL) {
        jni_event_t *event = worker->first;
        if (!jni_event_write(worker, &event->data, event->payload, event->payload_bytes, NULL, 0))
            return false;
        worker->first = event->next;
        if (worker->first == NULL)
            worker->last = NULL;
        free(event->payload);
        event->payload = NULL;
        event->delivered(worker, event);
    }
    return true;
}
