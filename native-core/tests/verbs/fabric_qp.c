/* SPDX-License-Identifier: Apache-2.0
 * fabric_qp.c - queue pairs of the scripted libibverbs. */
#include <errno.h>
#include <stdlib.h>

#include "fabric_private.h"

static fabric_qp_t *new_qp(struct ibv_pd *pd, enum ibv_qp_type type, struct ibv_qp_cap *cap)
{
    if (fabric_script.iwarp && type != IBV_QPT_RC) {
        errno = EINVAL;
        return NULL;
    }
    fabric_qp_t *qp = fabric_make(sizeof(*qp), &fabric_counts.qps);
    if (fabric_counts.qps > fabric_counts.most_qps)
        fabric_counts.most_qps = fabric_counts.qps;
    if (cap->max_inline_data > fabric_script.inline_max)
        cap->max_inline_data = fabric_script.inline_max;
    qp->inline_max = cap->max_inline_data;
    qp->max = cap->max_send_wr;
    qp->own.max = cap->max_recv_wr;
    struct ibv_qp *base = &qp->qp.qp_base;
    base->context = pd->context;
    base->pd = pd;
    base->qp_type = type;
    base->qp_num = fabric_next_number();
    list_init(&qp->requests);
    list_init(&qp->own.receives);
    list_append(&fabric_context_of(pd->context)->qps, &qp->link);
    if (map_put(&fabric_qps, base->qp_num, qp) < 0)
        abort();
    return qp;
}

static struct ibv_qp *create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
    FABRIC_GUARD;
    fabric_qp_t *qp = new_qp(pd, attr->qp_type, &attr->cap);
    if (qp == NULL)
        return NULL;
    qp->srq = (fabric_srq_t *)attr->srq;
    qp->qp.qp_base.send_cq = attr->send_cq;
    qp->qp.qp_base.recv_cq = attr->recv_cq;
    qp->qp.qp_base.srq = attr->srq;
    return &qp->qp.qp_base;
}

struct ibv_qp *fabric_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr)
{
    struct ibv_qp_init_attr classic = {.send_cq = attr->send_cq,
                                       .recv_cq = attr->recv_cq,
                                       .srq = attr->srq,
                                       .cap = attr->cap,
                                       .qp_type = attr->qp_type};
    (void)context;
    struct ibv_qp *qp = create_qp(attr->pd, &classic);
    if (qp == NULL)
        return NULL;
    attr->cap = classic.cap;
    fabric_wr_calls((struct ibv_qp_ex *)qp);
    return qp;
}

static struct ibv_qp_ex *extended_qp(struct ibv_qp *qp)
{
    return (struct ibv_qp_ex *)qp;
}

static int modify_qp(struct ibv_qp *base, struct ibv_qp_attr *attr, int mask)
{
    FABRIC_GUARD;
    fabric_qp_t *qp = (fabric_qp_t *)base;
    if (fabric_is_dead(fabric_context_of(base->context)->device))
        return EIO;
    if ((mask & IBV_QP_QKEY) != 0)
        qp->qkey = attr->qkey;
    if ((mask & IBV_QP_DEST_QPN) != 0)
        qp->dest = attr->dest_qp_num;
    if ((mask & IBV_QP_ACCESS_FLAGS) != 0)
        qp->access = (int)attr->qp_access_flags;
    if ((mask & IBV_QP_AV) != 0)
        qp->route = attr->ah_attr;
    if (fabric_script.iwarp && (attr->qp_state == IBV_QPS_RTR || attr->qp_state == IBV_QPS_RTS))
        return EINVAL; /* its driver's business */
    if (attr->qp_state == IBV_QPS_RTR && base->state != IBV_QPS_INIT)
        return EINVAL;
    if (attr->qp_state == IBV_QPS_RTS && base->state != IBV_QPS_RTR)
        return EINVAL;
    if (attr->qp_state == IBV_QPS_ERR) {
        fabric_fail_qp(qp, IBV_WC_WR_FLUSH_ERR);
        if (qp->srq != NULL)
            fabric_add_event(fabric_context_of(base->context),
                             (struct ibv_async_event){.element.qp = base, .event_type = IBV_EVENT_QP_LAST_WQE_REACHED});
    }
    if (attr->qp_state == IBV_QPS_RESET) {
        fabric_drop_requests(qp);
        fabric_drop_receives(&qp->own);
    }
    base->state = attr->qp_state;
    return 0;
}

/* As the kernel's soft-RoCE: completions that are in the queue stay there. */
static int destroy_qp(struct ibv_qp *base)
{
    FABRIC_GUARD;
    fabric_qp_t *qp = (fabric_qp_t *)base;
    if (qp->group_count > 0)
        return EBUSY;
    fabric_counts.hasty += qp->srq != NULL && base->state != IBV_QPS_ERR && base->state > IBV_QPS_INIT;
    fabric_drop_requests(qp);
    fabric_drop_receives(&qp->own);
    list_remove(&qp->link);
    (void)map_remove(&fabric_qps, base->qp_num);
    free(qp);
    fabric_counts.qps--;
    return 0;
}

void fabric_qp_calls(verbs_api_t *api)
{
    api->create_qp = create_qp;
    api->extended_qp = extended_qp;
    api->modify_qp = modify_qp;
    api->destroy_qp = destroy_qp;
}
