/* SPDX-License-Identifier: Apache-2.0
 * verbs_api.c - opens libibverbs and finds its calls by name and version. */
#include "tl/verbs/verbs_api.h"

#include <dirent.h>

#include "tl/verbs/verbs_library.h"

#define DEVICES "/sys/class/infiniband"
#define SYMBOL(field, name, version) {name, version, offsetof(verbs_api_t, field)}

static const verbs_symbol_t SYMBOLS[] = {
    SYMBOL(get_device_list, "ibv_get_device_list", "IBVERBS_1.1"),
    SYMBOL(free_device_list, "ibv_free_device_list", "IBVERBS_1.1"),
    SYMBOL(get_device_name, "ibv_get_device_name", "IBVERBS_1.1"),
    SYMBOL(open_device, "ibv_open_device", "IBVERBS_1.1"),
    SYMBOL(close_device, "ibv_close_device", "IBVERBS_1.1"),
    SYMBOL(query_device, "ibv_query_device", "IBVERBS_1.1"),
    SYMBOL(query_port, "ibv_query_port", "IBVERBS_1.1"),
    SYMBOL(query_gid, "_ibv_query_gid_ex", "IBVERBS_1.11"),
    SYMBOL(query_pkey, "ibv_query_pkey", "IBVERBS_1.1"),
    SYMBOL(alloc_pd, "ibv_alloc_pd", "IBVERBS_1.1"),
    SYMBOL(dealloc_pd, "ibv_dealloc_pd", "IBVERBS_1.1"),
    SYMBOL(register_memory, "ibv_reg_mr_iova2", "IBVERBS_1.8"),
    SYMBOL(deregister_memory, "ibv_dereg_mr", "IBVERBS_1.1"),
    SYMBOL(create_channel, "ibv_create_comp_channel", "IBVERBS_1.0"),
    SYMBOL(destroy_channel, "ibv_destroy_comp_channel", "IBVERBS_1.0"),
    SYMBOL(create_cq, "ibv_create_cq", "IBVERBS_1.1"),
    SYMBOL(destroy_cq, "ibv_destroy_cq", "IBVERBS_1.1"),
    SYMBOL(get_cq_event, "ibv_get_cq_event", "IBVERBS_1.1"),
    SYMBOL(ack_cq_events, "ibv_ack_cq_events", "IBVERBS_1.1"),
    SYMBOL(create_srq, "ibv_create_srq", "IBVERBS_1.1"),
    SYMBOL(modify_srq, "ibv_modify_srq", "IBVERBS_1.1"),
    SYMBOL(destroy_srq, "ibv_destroy_srq", "IBVERBS_1.1"),
    SYMBOL(create_qp, "ibv_create_qp", "IBVERBS_1.1"),
    SYMBOL(extended_qp, "ibv_qp_to_qp_ex", "IBVERBS_1.6"),
    SYMBOL(modify_qp, "ibv_modify_qp", "IBVERBS_1.1"),
    SYMBOL(destroy_qp, "ibv_destroy_qp", "IBVERBS_1.1"),
    SYMBOL(create_ah, "ibv_create_ah", "IBVERBS_1.1"),
    SYMBOL(destroy_ah, "ibv_destroy_ah", "IBVERBS_1.1"),
    SYMBOL(attach_group, "ibv_attach_mcast", "IBVERBS_1.1"),
    SYMBOL(detach_group, "ibv_detach_mcast", "IBVERBS_1.1"),
    SYMBOL(get_async_event, "ibv_get_async_event", "IBVERBS_1.1"),
    SYMBOL(ack_async_event, "ibv_ack_async_event", "IBVERBS_1.1"),
    SYMBOL(event_text, "ibv_event_type_str", "IBVERBS_1.1"),
    SYMBOL(status_text, "ibv_wc_status_str", "IBVERBS_1.1"),
};

static verbs_api_t calls;
static verbs_library_t libibverbs = {.file = "libibverbs.so.1",
                                     .packages = "libibverbs1 and ibverbs-providers",
                                     .oldest = "rdma-core 33",
                                     .symbols = SYMBOLS,
                                     .count = sizeof(SYMBOLS) / sizeof(SYMBOLS[0]),
                                     .table = &calls,
                                     .lock = PTHREAD_MUTEX_INITIALIZER};

static bool any_device(void)
{
    DIR *directory = opendir(DEVICES);
    bool found = false;
    if (directory == NULL)
        return false;
    for (const struct dirent *entry; !found && (entry = readdir(directory)) != NULL;)
        found = entry->d_name[0] != '.';
    (void)closedir(directory);
    return found;
}

vbn_status_t verbs_api_get(bool asked, const verbs_api_t **api_p)
{
    if (verbs_library_replacement(&libibverbs) == NULL && !any_device())
        return err_set(VBN_ERR_UNSUPPORTED, "this host has no RDMA device (" DEVICES " is empty or missing)%s",
                       asked ? ": load its driver, or make a software one with: rdma link add rxe0 type rxe netdev eth0"
                             : "");
    const void *table;
    vbn_status_t status = verbs_library_get(&libibverbs, &table);
    *api_p = table;
    return status;
}

void verbs_api_replace(const verbs_api_t *api)
{
    verbs_library_replace(&libibverbs, api);
}

struct ibv_qp *verbs_create_qp(const verbs_api_t *api, struct ibv_pd *pd, struct ibv_qp_init_attr *attr,
                               uint64_t send_ops, struct ibv_qp_ex **extended_p)
{
    const struct verbs_context *context = verbs_get_ctx(pd->context);
    *extended_p = NULL;
    if (context != NULL && context->sz >= sizeof(*context) - offsetof(struct verbs_context, create_qp_ex) &&
        context->create_qp_ex != NULL) {
        struct ibv_qp_init_attr_ex more = {.qp_context = attr->qp_context,
                                           .send_cq = attr->send_cq,
                                           .recv_cq = attr->recv_cq,
                                           .srq = attr->srq,
                                           .cap = attr->cap,
                                           .qp_type = attr->qp_type,
                                           .pd = pd,
                                           .send_ops_flags = send_ops,
                                           .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS};
        struct ibv_qp *qp = context->create_qp_ex(pd->context, &more);
        if (qp != NULL) {
            attr->cap = more.cap;
            *extended_p = api->extended_qp(qp);
            return qp;
        }
    }
    return api->create_qp(pd, attr);
}
