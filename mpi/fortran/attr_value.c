/* SPDX-License-Identifier: Apache-2.0
 * attr_value.c - the places of the values: chunks that never move, and a list of the free places.
 */
#include "attr_value.h"

#include <pthread.h>

#define PLACES 256

typedef union place {
    MPI_Aint value;
    union place *next; // of the free ones
} place_t;

typedef struct chunk {
    place_t places[PLACES];
    struct chunk *next;
} chunk_t;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static chunk_t *chunks;
static place_t *unused;

static void add_chunk(void)
{
    chunk_t *chunk = malloc(sizeof(*chunk));
    if (chunk == NULL)
        return;
    chunk->next = chunks;
    chunks = chunk;
    for (int i = 0; i < PLACES; i++) {
        chunk->places[i].next = unused;
        unused = &chunk->places[i];
    }
}

MPI_Aint *attr_value_make(MPI_Aint value)
{
    pthread_mutex_lock(&mutex);
    if (unused == NULL)
        add_chunk();
    place_t *place = unused;
    if (place != NULL) {
        unused = place->next;
        place->value = value;
    }
    pthread_mutex_unlock(&mutex);
    return place == NULL ? NULL : &place->value;
}

bool attr_value_is(const void *pointer)
{
    bool found = false;
    pthread_mutex_lock(&mutex);
    for (const chunk_t *chunk = chunks; chunk != NULL && !found; chunk = chunk->next)
        found = (uintptr_t)pointer - (uintptr_t)chunk->places < sizeof(chunk->places);
    pthread_mutex_unlock(&mutex);
    return found;
}

MPI_Aint attr_value_get(const void *pointer)
{
    return attr_value_is(pointer) ? *(const MPI_Aint *)pointer : (MPI_Aint)pointer;
}

void attr_value_end(void *pointer)
{
    if (!attr_value_is(pointer))
        return;
    place_t *place = pointer;
    pthread_mutex_lock(&mutex);
    place->next = unused;
    unused = place;
    pthread_mutex_unlock(&mutex);
}
