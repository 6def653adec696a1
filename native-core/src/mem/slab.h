/* SPDX-License-Identifier: Apache-2.0
 * slab.h - blocks for pools of buffers that transports read and write: private memory whose pages exist, in huge pages
 * when the block is large enough and the host has some, and locked as far as RLIMIT_MEMLOCK (ulimit -l) allows. What
 * goes beyond that limit is given out unlocked, with one log line that names the limit and the cure. */
#ifndef VBN_MEM_SLAB_H
#define VBN_MEM_SLAB_H

#include "base/mpool.h"
#include "mem/mem.h"

/* For mpool_init_from. Any thread; pools with this source end before the registry does. */
mpool_source_t mem_slab_source(mem_registry_t *registry);

#endif
