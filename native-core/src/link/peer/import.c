/* SPDX-License-Identifier: Apache-2.0
 * import.c - memory of a peer is mapped: calls that wait until the peer is READY, calls that its transport answers. */
#include "link/peer/peer.h"

#include <stdlib.h>

/* One link_import that has no answer yet. Owned by the peer's list until the transport got it, then by the call. */
typedef struct link_import_call {
    list_link_t link; /* in extra->imports until started */
    vbn_peer_t *peer; /* NULL once the peer is gone */
    mem_key_info_t info;
    tl_import_func_t func; /* NULL once answered by the peer's end */
    void *arg;
    bool started;
} link_import_call_t;

void link_peer_finish_imports(vbn_peer_t *peer, vbn_status_t status)
{
    for (list_link_t *link; peer->extra != NULL && (link = fifo_pop(&peer->extra->imports)) != NULL;) {
        link_import_call_t *call = container_of(link, link_import_call_t, link);
        tl_import_func_t func = call->func;
        void *arg = call->arg;
        free(call);
        func(arg, status, NULL);
    }
}

static void import_answer(void *arg, vbn_status_t status, mem_import_t *import)
{
    link_import_call_t *call = arg;
    tl_import_func_t func = call->func;
    void *func_arg = call->arg;
    free(call);
    func(func_arg, status, import);
}

static vbn_status_t import_start(link_import_call_t *call)
{
    link_transport_t *transport = &call->peer->engine->transports[call->peer->transport];
    if ((link_caps(call->peer)->flags & TL_CAP_MAP) == 0) /* it was asked for while another transport was likely */
        return err_set(VBN_ERR_UNSUPPORTED, "memory of a peer cannot be mapped over %s", transport->ops->name);
    return transport->ops->import(call->peer->lane->ep, &call->info, import_answer, call);
}

void link_peer_run_imports(vbn_peer_t *peer)
{
    if (peer->extra == NULL)
        return;
    fifo_t waiting = peer->extra->imports;
    peer->extra->imports = (fifo_t){NULL};
    for (list_link_t *link; (link = fifo_pop(&waiting)) != NULL;) {
        link_import_call_t *call = container_of(link, link_import_call_t, link);
        vbn_status_t status = peer->lane != NULL ? import_start(call) : (vbn_status_t)peer->lost_status;
        if (status < 0)
            import_answer(call, status, NULL);
    }
}

vbn_status_t link_import(vbn_peer_t *peer, const mem_key_info_t *info, tl_import_func_t func, void *arg)
{
    if (peer->state == PEER_LOST || peer->state == PEER_ENDING)
        return err_set((vbn_status_t)peer->lost_status, "%s", link_lost_text(peer, "peer lost"));
    if ((link_caps(peer)->flags & TL_CAP_MAP) == 0)
        return err_set(VBN_ERR_UNSUPPORTED, "memory of a peer cannot be mapped over %s",
                       peer->engine->transports[peer->transport].name);
    link_import_call_t *call = calloc(1, sizeof(*call));
    if (call == NULL)
        return err_set(VBN_ERR_NO_MEMORY, "no memory for an import request");
    call->peer = peer;
    call->info = *info;
    call->func = func;
    call->arg = arg;
    if (!link_ready(peer)) {
        link_extra_t *extra = link_extra(peer);
        if (extra == NULL) {
            free(call);
            return err_set(VBN_ERR_NO_MEMORY, "no memory for an import request");
        }
        fifo_append(&extra->imports, &call->link);
        if (peer->dormant)
            link_connect_now(peer);
        return VBN_INPROGRESS;
    }
    vbn_status_t status = import_start(call);
    if (status < 0)
        free(call);
    return status;
}
