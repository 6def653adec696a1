/* SPDX-License-Identifier: Apache-2.0
 * lock.c - the lock of small objects: what calls use that any thread may make at any time (obj.h).
 */
#include <pthread.h>

#include "obj/obj.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

void obj_lock(void)
{
    pthread_mutex_lock(&mutex);
}

void obj_unlock(void)
{
    pthread_mutex_unlock(&mutex);
}
