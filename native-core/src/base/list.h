/* SPDX-License-Identifier: Apache-2.0
 * list.h - intrusive doubly linked list; a link is embedded in its element. No locking. */
#ifndef VBN_BASE_LIST_H
#define VBN_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

typedef struct list_link {
    struct list_link *next;
    struct list_link *prev;
} list_link_t;

#define container_of(ptr, type, member) ((type *)((char *)(ptr) - offsetof(type, member)))
#define list_for_each(pos, head) for (list_link_t *pos = (head)->next; pos != (head); pos = pos->next)

static inline void list_init(list_link_t *head)
{
    head->next = head;
    head->prev = head;
}

static inline bool list_empty(const list_link_t *head)
{
    return head->next == head;
}

static inline void list_append(list_link_t *head, list_link_t *link)
{
    link->prev = head->prev;
    link->next = head;
    head->prev->next = link;
    head->prev = link;
}

static inline void list_prepend(list_link_t *head, list_link_t *link)
{
    list_append(head->next, link);
}

/* Removes link from the list it is in and makes it a list of its own, so removing twice is harmless. */
static inline void list_remove(list_link_t *link)
{
    link->prev->next = link->next;
    link->next->prev = link->prev;
    list_init(link);
}

/* Puts all links of `from` behind those of `head`; `from` is empty then. */
static inline void list_append_all(list_link_t *head, list_link_t *from)
{
    if (list_empty(from))
        return;
    from->next->prev = head->prev;
    head->prev->next = from->next;
    from->prev->next = head;
    head->prev = from->prev;
    list_init(from);
}

/* Takes the first link off, NULL when empty. */
static inline list_link_t *list_pop(list_link_t *head)
{
    if (list_empty(head))
        return NULL;
    list_link_t *first = head->next;
    list_remove(first);
    return first;
}

#endif
