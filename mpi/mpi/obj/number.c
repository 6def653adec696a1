/* SPDX-License-Identifier: Apache-2.0
 * number.c - numbers of objects: a table, whose entry a program takes when it first asks for an object's number, and the object
 * gives back when it ends. The entry that was given back first is used first, so that a stale number stays one for long.
 */
#include <pthread.h>
#include <stdlib.h>

#include "obj/obj.h"

#define FIRST 0x1000
#define NONE (-1)

typedef struct entry {
    obj_t *object; /* NULL: nobody has it */
    int next;      /* of those that nobody has */
} entry_t;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* a leaf, below obj_lock too */
static entry_t *entries;
static int count;
static int oldest = NONE; /* of those that nobody has */
static int newest = NONE;

static void add_unused(int at)
{
    entries[at] = (entry_t){.next = NONE};
    if (oldest == NONE)
        oldest = at;
    else
        entries[newest].next = at;
    newest = at;
}

static int grow(void)
{
    const int more = count == 0 ? 64 : 2 * count;
    entry_t *grown = realloc(entries, (size_t)more * sizeof(*grown));
    if (grown == NULL)
        return -1;
    entries = grown;
    while (count < more)
        add_unused(count++);
    return 0;
}

static int number_of(obj_t *object)
{
    if (object->number != 0)
        return object->number;
    if (oldest == NONE && grow() != 0)
        return -1; /* no memory left; it stands for no object */
    const int at = oldest;
    oldest = entries[at].next;
    entries[at].object = object;
    object->number = FIRST + at;
    return object->number;
}

int obj_to_int(const void *handle)
{
    if (obj_is_predefined(handle))
        return (int)(uintptr_t)handle;
    pthread_mutex_lock(&mutex);
    const int number = number_of((obj_t *)(uintptr_t)handle);
    pthread_mutex_unlock(&mutex);
    return number;
}

void *obj_from_int(int number, const void *null)
{
    const void *found = null;
    if (number >= 0 && number < FIRST)
        return (void *)(uintptr_t)number;
    pthread_mutex_lock(&mutex);
    if (number >= FIRST && number - FIRST < count && entries[number - FIRST].object != NULL)
        found = entries[number - FIRST].object;
    pthread_mutex_unlock(&mutex);
    return (void *)(uintptr_t)found;
}

void obj_give_number(obj_t *object)
{
    pthread_mutex_lock(&mutex);
    add_unused(object->number - FIRST);
    object->number = 0;
    pthread_mutex_unlock(&mutex);
}
