/* SPDX-License-Identifier: Apache-2.0
 * fifo.h - queue of list.h links that takes one pointer: the last link, which points to the first. No locking. A link in
 * a fifo must not be given to list_remove(); one that was popped is a list of its own. */
#ifndef VBN_BASE_FIFO_H
#define VBN_BASE_FIFO_H

#include "base/list.h"

typedef struct fifo {
    list_link_t *last; /* NULL: empty */
} fifo_t;

static inline bool fifo_empty(const fifo_t *fifo)
{
    return fifo->last == NULL;
}

/* NULL when empty. */
static inline list_link_t *fifo_first(const fifo_t *fifo)
{
    return fifo->last != NULL ? fifo->last->next : NULL;
}

static inline void fifo_append(fifo_t *fifo, list_link_t *link)
{
    link->next = fifo->last != NULL ? fifo->last->next : link;
    if (fifo->last != NULL)
        fifo->last->next = link;
    fifo->last = link;
}

/* Takes the first link off, NULL when empty. */
static inline list_link_t *fifo_pop(fifo_t *fifo)
{
    list_link_t *first = fifo_first(fifo);
    if (first == NULL)
        return NULL;
    if (first == fifo->last)
        fifo->last = NULL;
    else
        fifo->last->next = first->next;
    list_init(first);
    return first;
}

#endif
