/* SPDX-License-Identifier: Apache-2.0
 * number.c - numbers of objects: a table, whose entry a program takes when it first asks for an object's number, and the object
 * gives back when it ends. The entry that was given back first is used first, so that a stale number stays one for long.
 * A request that goes back to the pool keeps its number for the next one: no call takes the lock for it.
 *
 * The table grows by chunks that never move, so that reading takes no lock: libraries of other ABIs, whose handles are ints, read
 * an entry or a number for each handle of each call.
 */
#include <pthread.h>
#include <stdlib.h>

#include "obj/obj.h"

#define FIRST 0x1000
#define NONE (-1)
#define CHUNK 512
#define CHUNKS 131072 /* as many numbers as 26 bits hold, which is what a handle of MPICH's ABI has for them */

typedef struct entry {
    obj_t *object; /* NULL: nobody has it. Atomic: read without the lock */
    int next;      /* of those that nobody has */
} entry_t;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* a leaf, below obj_lock too */
static entry_t *chunks[CHUNKS];                           /* atomic: set once each */
static int count;
static int oldest = NONE; /* of those that nobody has */
static int newest = NONE;

/* NULL: there is none yet. */
static entry_t *entry_at(int at)
{
    entry_t *chunk = __atomic_load_n(&chunks[at / CHUNK], __ATOMIC_ACQUIRE); /* pairs with grow */
    return chunk == NULL ? NULL : &chunk[at % CHUNK];
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
    entry_t *chunk = count < CHUNK * CHUNKS - FIRST ? calloc(CHUNK, sizeof(*chunk)) : NULL;
    if (chunk == NULL)
        return -1;
    __atomic_store_n(&chunks[count / CHUNK], chunk, __ATOMIC_RELEASE); /* pairs with entry_at */
    for (int i = 0; i < CHUNK; i++)
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
    entry_t *entry = entry_at(at);
    oldest = entry->next;
    __atomic_store_n(&entry->object, object, __ATOMIC_RELEASE);      /* pairs with obj_from_int */
    __atomic_store_n(&object->number, FIRST + at, __ATOMIC_RELEASE); /* pairs with obj_to_int */
    return FIRST + at;
}

int obj_to_int(const void *handle)
{
    obj_t *object = (obj_t *)(uintptr_t)handle;
    if (obj_is_predefined(handle))
        return (int)(uintptr_t)handle;
    int number = __atomic_load_n(&object->number, __ATOMIC_ACQUIRE); /* pairs with take_number */
    if (number != 0)
        return number;
    pthread_mutex_lock(&mutex);
    number = take_number(object);
    pthread_mutex_unlock(&mutex);
    return number;
}

void *obj_from_int(int number, const void *null)
{
    if (number >= 0 && number < FIRST)
        return (void *)(uintptr_t)number;
    const entry_t *entry = number >= FIRST && number - FIRST < CHUNK * CHUNKS ? entry_at(number - FIRST) : NULL;
    const obj_t *found = entry == NULL ? NULL : __atomic_load_n(&entry->object, __ATOMIC_ACQUIRE); /* take_number */
    return (void *)(uintptr_t)(found == NULL || found->kind == OBJ_DEAD ? null : found);
}

void obj_give_number(obj_t *object)
{
    pthread_mutex_lock(&mutex);
    const int at = object->number - FIRST;
    __atomic_store_n(&entry_at(at)->object, NULL, __ATOMIC_RELAXED);
    __atomic_store_n(&object->number, 0, __ATOMIC_RELAXED);
    add_unused(at);
    pthread_mutex_unlock(&mutex);
}
