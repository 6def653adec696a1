/* SPDX-License-Identifier: Apache-2.0
 * verbs_cm.c - opens librdmacm and finds its calls by name and version. */
#include "tl/verbs/verbs_cm.h"

#include <pthread.h>
#include <stdatomic.h>

#include "tl/verbs/verbs_info.h"
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
    SYMBOL(get_event, "rdma_get_cm_event", "RDMACM_1.0"),
    SYMBOL(ack_event, "rdma_ack_cm_event", "RDMACM_1.0"),
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static verbs_cm_t calls;  /* written once */
static char problem[256]; /* written once; empty: the library is open */
static _Atomic(const verbs_cm_t *) replacement;

static void load(void)
{
    const verbs_library_t librdmacm = {.file = "librdmacm.so.1", .packages = "librdmacm1", .oldest = "rdma-core 33",
                                       .symbols = SYMBOLS, .count = sizeof(SYMBOLS) / sizeof(SYMBOLS[0])};
    verbs_library_open(&librdmacm, &calls, problem, sizeof(problem));
}

vbn_status_t verbs_cm_get(const verbs_cm_t **cm_p)
{
    *cm_p = atomic_load_explicit(&replacement, memory_order_acquire); /* pairs with verbs_cm_replace */
    if (*cm_p != NULL)
        return VBN_OK;
    (void)pthread_once(&once, load);
    if (problem[0] != '\0')
        return err_set(VBN_ERR_UNSUPPORTED, "%s", problem);
    *cm_p = &calls;
    return VBN_OK;
}

vbn_status_t verbs_info_cm(void)
{
    const verbs_cm_t *cm;
    return verbs_cm_get(&cm);
}

void verbs_cm_replace(const verbs_cm_t *cm)
{
    atomic_store_explicit(&replacement, cm, memory_order_release); /* pairs with verbs_cm_get */
}
