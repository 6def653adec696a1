/* SPDX-License-Identifier: Apache-2.0
 * number.c - numbers of objects: a table, whose entry a program takes when it first asks for an object's number, and the object
 * gives back when it ends. The entry that was given back first is used first, so that a stale number stays one for long.
 * A request that goes back to the pool keeps its number for the next one: no call takes the lock for it.
 */
#include <pthread.h>
#include <stdlib.h>

#include "obj/number.h"

#define NONE (-1)
#define LAST (OBJ_CHUNK * OBJ_CHUNKS - 1)

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* a leaf, below obj_lock too */
static obj_entry_t *chunks[OBJ_CHUNKS];                   /* atomic: set once each */
static int count;
static int oldest = NONE; /* of those that nobody has */
static int newest = NONE;

/* The name for libraries of other ABIs. */
extern obj_entry_t *vbnmpi_numbers[OBJ_CHUNKS] __attribute__((alias("chunks"), visibility("default")));

/* Of a chunk that is there. */
static obj_entry_t *entry_at(int at)
{
    return &chunks[at / OBJ_CHUNK][at % OBJ_CHUNK];
}

static void add_unused(int at)
{
    entry_at(at)->next = NONE;
    if (oldest == NONE)
        oldest = at;
    else
        entry_at(newest)->next = at;
    newest = at;
}

static int grow(void)
{
    obj_entry_t *chunk = count <= LAST - OBJ_FIRST ? calloc(OBJ_CHUNK, sizeof(*chunk)) : NULL;
    if (chunk == NULL)
        return -1;
    __atomic_store_n(&chunks[count / OBJ_CHUNK], chunk, __ATOMIC_RELEASE); /* pairs with obj_numbered */
    for (int i = 0; i < OBJ_CHUNK; i++)
        add_unused(count++);
    return 0;
}

static int take_number(obj_t *object)
{
    if (object->number != 0)
        return object->number;
    if (oldest == NONE && grow() != 0)
        return -1; /* no memory left; it stands for no object */
    const int at = oldest;
    obj_entry_t *entry = entry_at(at);
    oldest = entry->next;
    __atomic_store_n(&entry->object, object, __ATOMIC_RELEASE);          /* pairs with obj_numbered */
    __atomic_store_n(&object->number, OBJ_FIRST + at, __ATOMIC_RELEASE); /* pairs with obj_number */
    return OBJ_FIRST + at;
}

int obj_to_int(const void *handle)
{
    obj_t *object = (obj_t *)(uintptr_t)handle;
    if (obj_is_predefined(handle))
        return (int)(uintptr_t)handle;
    int number = obj_number(object);
    if (number != 0)
        return number;
    pthread_mutex_lock(&mutex);
    number = take_number(object);
    pthread_mutex_unlock(&mutex);
    return number;
}

void *obj_from_int(int number, const void *null)
{
    if (number >= 0 && number < OBJ_FIRST)
        return (void *)(uintptr_t)number;
    void *found = number >= OBJ_FIRST && number <= LAST ? obj_numbered(chunks, (unsigned)number) : NULL;
    return found == NULL ? (void *)(uintptr_t)null : found;
}

void obj_give_number(obj_t *object)
{
    pthread_mutex_lock(&mutex);
    const int at = object->number - OBJ_FIRST;
    __atomic_store_n(&entry_at(at)->object, NULL, __ATOMIC_RELAXED);
    __atomic_store_n(&object->number, 0, __ATOMIC_RELAXED);
    add_unused(at);
    pthread_mutex_unlock(&mutex);
}
