/* SPDX-License-Identifier: Apache-2.0
 * number.c - numbers of objects: a table that grows, filled when a program first asks for an object's number. A
 * number is not used again.
 */
#include <stdlib.h>

#include "obj/obj.h"

#define FIRST 0x1000

static void **numbered;
static int count;

int obj_to_int(const void *handle)
{
    obj_t *object = (obj_t *)(uintptr_t)handle;
    if (obj_is_predefined(handle))
        return (int)(uintptr_t)handle;
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

void *obj_from_int(int number, const void *null)
{
    if (number >= 0 && number < FIRST)
        return (void *)(uintptr_t)number;
    if (number < FIRST || number - FIRST >= count)
        return (void *)(uintptr_t)null;
    return numbered[number - FIRST];
}
