/* SPDX-License-Identifier: Apache-2.0
 * number.h - the table of numbers as it is read: libraries of other ABIs, whose handles are ints, look into it for each handle of
 * each call. number.c fills it.
 *
 * The table grows by chunks that never move, so that reading takes no lock. A chunk is NULL until somebody needs it.
 */
#ifndef VERBENA_MPI_NUMBER_H
#define VERBENA_MPI_NUMBER_H

#include <stddef.h>

#include "obj/obj.h"

#define OBJ_FIRST 0x1000 /* lower ones are predefined handles */
#define OBJ_CHUNK 512
#define OBJ_CHUNKS 131072 /* as many numbers as 26 bits hold, which is what a handle of MPICH's ABI has for them */
_Static_assert(OBJ_FIRST % OBJ_CHUNK == 0, "the first number is the first one of a chunk");

typedef struct obj_entry {
    obj_t *object; /* NULL: nobody has it. Atomic: read without the lock */
    int next;      /* of those that nobody has */
} obj_entry_t;

/* The object of a number from OBJ_FIRST to the last one that 26 bits hold; NULL: there is none. */
static inline void *obj_numbered(obj_entry_t *const chunks[OBJ_CHUNKS], unsigned number)
{
    const size_t at = (size_t)(number / OBJ_CHUNK) - OBJ_FIRST / OBJ_CHUNK;
    const obj_entry_t *chunk = __atomic_load_n(&chunks[at], __ATOMIC_ACQUIRE); /* pairs with grow */
    if (chunk == NULL)
        return NULL;
    obj_t *found = __atomic_load_n(&chunk[number % OBJ_CHUNK].object, __ATOMIC_ACQUIRE); /* pairs with take_number */
    return found == NULL || found->kind == OBJ_DEAD ? NULL : found;
}

/* The number that an object has; 0: nobody has asked for it. */
static inline int obj_number(const void *object)
{
    return __atomic_load_n(&((const obj_t *)object)->number, __ATOMIC_ACQUIRE); /* pairs with take_number */
}

#endif
