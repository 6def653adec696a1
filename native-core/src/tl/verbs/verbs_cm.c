/* SPDX-License-Identifier: Apache-2.0
 * verbs_cm.c - opens librdmacm and finds its calls by name and version. */
#include "tl/verbs/verbs_cm.h"

#include <errno.h>
#include <string.h>

#include "tl/verbs/verbs_library.h"

#define SYMBOL(field, name, version) {name, version, offsetof(verbs_cm_t, field)}

static const verbs_symbol_t SYMBOLS[] = {
    SYMBOL(create_channel, "rdma_create_event_channel", "RDMACM_1.0"),
    SYMBOL(destroy_channel, "rdma_destroy_event_channel", "RDMACM_1.0"),
    SYMBOL(create_id, "rdma_create_id", "RDMACM_1.0"),
    SYMBOL(destroy_id, "rdma_destroy_id", "RDMACM_1.0"),
    SYMBOL(set_option, "rdma_set_option", "RDMACM_1.0"),
    SYMBOL(bind_addr, "rdma_bind_addr", "RDMACM_1.0"),
    SYMBOL(listen, "rdma_listen", "RDMACM_1.0"),
    SYMBOL(resolve_addr, "rdma_resolve_addr", "RDMACM_1.0"),
    SYMBOL(resolve_route, "rdma_resolve_route", "RDMACM_1.0"),
    SYMBOL(init_qp_attr, "rdma_init_qp_attr", "RDMACM_1.2"),
    SYMBOL(connect, "rdma_connect", "RDMACM_1.0"),
    SYMBOL(establish, "rdma_establish", "RDMACM_1.2"),
    SYMBOL(accept, "rdma_accept", "RDMACM_1.0"),
    SYMBOL(reject, "rdma_reject", "RDMACM_1.0"),
    SYMBOL(disconnect, "rdma_disconnect", "RDMACM_1.0"),
    SYMBOL(join_group, "rdma_join_multicast", "RDMACM_1.0"),
    SYMBOL(get_event, "rdma_get_cm_event", "RDMACM_1.0"),
    SYMBOL(ack_event, "rdma_ack_cm_event", "RDMACM_1.0"),
};

static verbs_cm_t calls;
static verbs_library_t librdmacm = {.file = "librdmacm.so.1",
                                    .packages = "librdmacm1",
                                    .oldest = "rdma-core 33",
                                    .symbols = SYMBOLS,
                                    .count = sizeof(SYMBOLS) / sizeof(SYMBOLS[0]),
                                    .table = &calls,
                                    .lock = PTHREAD_MUTEX_INITIALIZER};

vbn_status_t verbs_cm_get(const verbs_cm_t **cm_p)
{
    const void *table;
    vbn_status_t status = verbs_library_get(&librdmacm, &table);
    *cm_p = table;
    return status;
}

vbn_status_t verbs_cm_no_channel(int error, const char *what, const char *device)
{
    const char *cure = "";
    if (error == EPERM || error == EACCES)
        cure = " (allow access to /dev/infiniband/rdma_cm)";
    else if (error == ENOENT || error == ENODEV || error == ENXIO || error == ENOSYS)
        cure = " (modprobe rdma_ucm; containers: --device=/dev/infiniband/rdma_cm)";
    return err_sys(error, "%s for %s%s", what, device, cure);
}

bool verbs_cm_is_of(const struct rdma_cm_id *id, const verbs_port_t *port)
{
    return id->verbs != NULL && id->port_num == port->number &&
           strcmp(port->api->get_device_name(id->verbs->device), port->api->get_device_name(port->context->device)) ==
               0;
}

vbn_status_t verbs_info_cm(void)
{
    const verbs_cm_t *cm;
    return verbs_cm_get(&cm);
}

void verbs_cm_replace(const verbs_cm_t *cm)
{
    verbs_library_replace(&librdmacm, cm);
}
