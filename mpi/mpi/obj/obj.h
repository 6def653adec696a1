/* SPDX-License-Identifier: Apache-2.0
 * obj.h - what all MPI objects have in common. A handle is the address of its object, or a predefined constant below
 * 0x1000, which a heap address never is.
 */
#ifndef VERBENA_MPI_OBJ_H
#define VERBENA_MPI_OBJ_H

#include <stdint.h>

#include <mpi.h>

typedef enum obj_kind {
    OBJ_DEAD = 0, /* freed: whoever still uses the handle gets an error, as long as the memory is not used again */
    OBJ_COMM = 0x434f4d4d,
    OBJ_REQUEST = 0x52455155,
    OBJ_GROUP = 0x47524f55,
    OBJ_ERRHANDLER = 0x45525248,
    OBJ_MESSAGE = 0x4d455353,
    OBJ_OP = 0x4f504f50,
    OBJ_INFO = 0x494e464f,
    OBJ_DATATYPE = 0x54595045,
    OBJ_SESSION = 0x53455353,
    OBJ_FILE = 0x46494c45,
    OBJ_WIN = 0x57494e44
} obj_kind_t;

typedef struct obj {
    uint32_t kind;
    int refs;
    MPI_Errhandler handler; /* of communicators, sessions and windows, later files */
    int number;             /* for Fortran: obj_to_int; 0: nobody has asked */
} obj_t;

typedef enum obj_state { OBJ_BEFORE_INIT, OBJ_READY, OBJ_FINALIZED } obj_state_t;

extern obj_state_t obj_state; /* of the world model */
extern int obj_sessions;      /* that are open */

/* Whether the program may use MPI: by the world model or by a session. */
static inline int obj_is_open(void)
{
    return obj_state == OBJ_READY || obj_sessions > 0;
}

/* The lock of small objects: info objects, error handlers, error codes of the program, numbers of handles. Any thread may use
 * these at any time, before MPI_Init and below MPI_THREAD_MULTIPLE too (MPI 5.0, 11.4.1), where the gate of the runtime is for
 * one thread only. Whoever holds it takes no other lock but that of the numbers (number.c), enters nothing and calls no function
 * of the program. */
void obj_lock(void);
void obj_unlock(void);

/* The integer of a handle: the value of a predefined one, else a number above those; and back. A number that stands for
 * nothing gives what is NULL for the type. The same handle always has the same number, until its object ends. Any thread. */
int obj_to_int(const void *handle);
void *obj_from_int(int number, const void *null);
void obj_give_number(obj_t *object);

/* The object ends: its handle and its number stand for nothing from here on. Before its memory goes. */
static inline void obj_end(obj_t *object)
{
    if (object->number != 0)
        obj_give_number(object);
    object->kind = OBJ_DEAD;
}

/* The object ends, and its memory waits for the next one of its kind, which takes the number over. */
static inline void obj_rest(obj_t *object)
{
    object->kind = OBJ_DEAD;
}

static inline int obj_is_predefined(const void *handle)
{
    return (uintptr_t)handle < 0x1000;
}

static inline int obj_is(const void *handle, obj_kind_t kind)
{
    return !obj_is_predefined(handle) && ((const obj_t *)handle)->kind == (uint32_t)kind;
}

#endif
