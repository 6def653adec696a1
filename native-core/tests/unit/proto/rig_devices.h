/* SPDX-License-Identifier: Apache-2.0
 * rig_devices.h - devices of both sides of the rig, joined by one connection at a time: they serve what was exposed, carry
 * out one transfer per step, refuse what they do not serve, which breaks the connection. */
#ifndef VBN_TESTS_PROTO_RIG_DEVICES_H
#define VBN_TESTS_PROTO_RIG_DEVICES_H

#include "link/link.h"

typedef struct rig_devices rig_devices_t;

rig_devices_t *rig_devices_open(mem_registry_t *const memory[2]);
void rig_devices_close(rig_devices_t *devices);
uint32_t rig_devices_connection(const rig_devices_t *devices);
vbn_status_t rig_devices_expose(rig_devices_t *devices, int side, uint32_t connection, uint64_t key_handle,
                                mem_exposed_t *exposed_p);
/* Takes at most 3000 bytes, of at most 3 pieces; at most 4 transfers of a side wait. */
vbn_status_t rig_devices_access(rig_devices_t *devices, int side, uint32_t connection, const link_access_t *access,
                                uint32_t *taken_p);
bool rig_devices_step(rig_devices_t *devices);  /* false: there was nothing to do */
void rig_devices_break(rig_devices_t *devices); /* a new connection is there at once */

#endif
