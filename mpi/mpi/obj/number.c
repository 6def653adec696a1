/* SPDX-License-Identifier: Apache-2.0
 * number.c - numbers of objects: a table that grows, filled when a program first asks for an object's number. A
 * number is not used again.
 */
#include <stdlib.h>

#include "obj/obj.h"

#define FIRST 0x1000

static void **numbered;
static int count;

static int number_of(obj_t *object)
{
    if (object->number != 0 && numbered[object->number - FIRST] == object)
        return object->number;
    void **more = realloc(numbered, (size_t)(count + 1) * sizeof(*more));
    if (more == NULL)
        return -1; /* no memory left; it stands for no object */
    numbered = more;
    numbered[count] = object;
    object->number = FIRST + count++;
    return object->number;
}

int obj_to_int(const void *handle)
{
    if (obj_is_predefined(handle))
        return (int)(uintptr_t)handle;
    obj_lock();
    const int number = number_of((obj_t *)(uintptr_t)handle);
    obj_unlock();
    return number;
}

void *obj_from_int(int number, const void *null)
{
    if (number >= 0 && number < FIRST)
        return (void *)(uintptr_t)number;
    obj_lock();
    void *found = number < FIRST || number - FIRST >= count ? (void *)(uintptr_t)null : numbered[number - FIRST];
    obj_unlock();
    return found;
}
