/* SPDX-License-Identifier: Apache-2.0
 * patient.h - time-outs of a client on a loaded machine: those of the library end a call whose server stands still for 5 s. */
#ifndef MC_TESTS_COMPAT_PATIENT_H
#define MC_TESTS_COMPAT_PATIENT_H

#include <libmemcached/memcached.h>

#define PATIENCE_MS 60000

static inline void be_patient(memcached_st *ptr)
{
    memcached_behavior_set(ptr, MEMCACHED_BEHAVIOR_POLL_TIMEOUT, PATIENCE_MS);
    memcached_behavior_set(ptr, MEMCACHED_BEHAVIOR_CONNECT_TIMEOUT, PATIENCE_MS);
}

#endif
