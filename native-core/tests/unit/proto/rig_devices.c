/* SPDX-License-Identifier: Apache-2.0
 * rig_devices.c - see rig_devices.h. */
#include "rig_devices.h"

#include <stdlib.h>
#include <string.h>

#define SERVED_MOST 64u
#define WAITING_MOST 4u
#define BYTES_MOST 3000u
#define PIECES_MOST 3u
#define FIRST_KEY 100u

typedef struct served {
    uint8_t *address; /* NULL: not any more */
    size_t bytes;
    unsigned access;
} served_t;

typedef struct device {
    mem_device_t mem;
    served_t served[SERVED_MOST];
    uint32_t count;
    unsigned waiting;
} device_t;

typedef struct transfer {
    list_link_t link;
    link_access_t access;
    uint32_t bytes;
    int side;
} transfer_t;

struct rig_devices {
    mem_registry_t *memory[2];
    device_t device[2];
    list_link_t transfers;
    uint32_t connection;
};

static vbn_status_t serve(void *arg, void *address, size_t bytes, unsigned access, void **handle_p, uint32_t *key_p)
{
    device_t *device = arg;
    if (device->count == SERVED_MOST)
        return err_set(VBN_ERR_LIMIT, "the rig's device serves no more");
    served_t *served = &device->served[device->count];
    *served = (served_t){address, bytes, access};
    *key_p = FIRST_KEY + device->count++;
    *handle_p = served;
    return VBN_OK;
}

static void hide(void *arg, void *handle)
{
    (void)arg;
    ((served_t *)handle)->address = NULL;
}

rig_devices_t *rig_devices_open(mem_registry_t *const memory[2])
{
    rig_devices_t *devices = calloc(1, sizeof(*devices));
    if (devices == NULL)
        abort();
    list_init(&devices->transfers);
    devices->connection = 77;
    for (int i = 0; i < 2; i++) {
        devices->memory[i] = memory[i];
        devices->device[i].mem = (mem_device_t){.add = serve, .remove = hide, .arg = &devices->device[i]};
        mem_device_init(&devices->device[i].mem);
    }
    return devices;
}

void rig_devices_close(rig_devices_t *devices)
{
    if (devices == NULL)
        return;
    rig_devices_break(devices);
    for (int i = 0; i < 2; i++)
        mem_device_end(devices->memory[i], &devices->device[i].mem);
    free(devices);
}

uint32_t rig_devices_connection(const rig_devices_t *devices)
{
    return devices->connection;
}

vbn_status_t rig_devices_expose(rig_devices_t *devices, int side, uint32_t connection, uint64_t key_handle,
                                mem_exposed_t *exposed_p)
{
    if (connection != devices->connection)
        return err_set(VBN_ERR_UNSUPPORTED, "no such connection");
    return mem_expose(devices->memory[side], &devices->device[side].mem, key_handle, exposed_p);
}

vbn_status_t rig_devices_access(rig_devices_t *devices, int side, uint32_t connection, const link_access_t *access,
                                uint32_t *taken_p)
{
    device_t *device = &devices->device[side];
    if (connection != devices->connection)
        return err_set(VBN_ERR_PEER_LOST, "that connection is gone");
    if (device->waiting == WAITING_MOST)
        return VBN_BUSY;
    transfer_t *transfer = calloc(1, sizeof(*transfer));
    if (transfer == NULL)
        abort();
    transfer->access = *access;
    transfer->side = side;
    for (uint32_t i = 0; i < access->iov_count && i < PIECES_MOST && transfer->bytes < BYTES_MOST; i++) {
        size_t room = BYTES_MOST - transfer->bytes;
        transfer->bytes += (uint32_t)(access->iov[i].iov_len < room ? access->iov[i].iov_len : room);
    }
    *taken_p = transfer->bytes;
    device->waiting++;
    list_append(&devices->transfers, &transfer->link);
    return VBN_INPROGRESS;
}

static void end(rig_devices_t *devices, transfer_t *transfer, vbn_status_t status)
{
    link_access_t access = transfer->access;
    list_remove(&transfer->link);
    devices->device[transfer->side].waiting--;
    free(transfer);
    access.done(access.arg, status);
}

/* NULL: refused. */
static uint8_t *place(const rig_devices_t *devices, const transfer_t *transfer)
{
    const device_t *owner = &devices->device[1 - transfer->side];
    uint32_t index = transfer->access.key - FIRST_KEY;
    const served_t *served = transfer->access.key < FIRST_KEY || index >= owner->count ? NULL : &owner->served[index];
    unsigned access = transfer->access.write ? VBN_ACCESS_WRITE : VBN_ACCESS_READ;
    uint64_t start = served == NULL ? 0 : (uintptr_t)served->address, at = transfer->access.remote;
    bool good = served != NULL && start != 0 && (served->access & access) != 0 && at >= start &&
                transfer->bytes <= served->bytes && at - start <= served->bytes - transfer->bytes;
    return good ? (uint8_t *)(uintptr_t)at : NULL;
}

bool rig_devices_step(rig_devices_t *devices)
{
    if (list_empty(&devices->transfers))
        return false;
    transfer_t *transfer = container_of(devices->transfers.next, transfer_t, link);
    uint8_t *there = place(devices, transfer);
    if (there == NULL) {
        rig_devices_break(devices);
        return true;
    }
    const struct iovec *iov = transfer->access.iov;
    for (uint32_t left = transfer->bytes; left > 0; iov++) {
        size_t take = iov->iov_len < left ? iov->iov_len : left;
        memcpy(transfer->access.write ? there : iov->iov_base, transfer->access.write ? iov->iov_base : there, take);
        there += take;
        left -= (uint32_t)take;
    }
    end(devices, transfer, VBN_OK);
    return true;
}

void rig_devices_break(rig_devices_t *devices)
{
    devices->connection++;
    while (!list_empty(&devices->transfers))
        end(devices, container_of(devices->transfers.next, transfer_t, link), VBN_ERR_PEER_LOST);
}
