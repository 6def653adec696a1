/* SPDX-License-Identifier: Apache-2.0
 * host.h - which host this process is on, for launchers that do not say who shares a node (pmi_node).
 */
#ifndef VERBENA_RT_HOST_H
#define VERBENA_RT_HOST_H

#include <stdint.h>

/* Equal at processes that reach each other by shared memory, as the core sees it (transport shm). */
typedef struct rt_host {
    char boot_id[36];
    char unused[4];
    int64_t group;   /* tl.shm.group */
    uint64_t device; /* of the network namespace, or of tl.shm.socket_dir */
    uint64_t inode;
} rt_host_t;

void rt_find_host(rt_host_t *host);

/* Memory of the host, in bytes. */
uint64_t rt_host_bytes(void);
/* Of address space that this process may have (ulimit -v); UINT64_MAX: any. */
uint64_t rt_most_addresses(void);

#endif
