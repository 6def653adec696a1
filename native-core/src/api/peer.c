/* SPDX-License-Identifier: Apache-2.0
 * peer.c - public peer calls. */
#include "api/api_private.h"

vbn_status_t vbn_connect_flags(vbn_worker_t *worker, const void *blob, size_t length, unsigned flags,
                               vbn_peer_error_func_t error_func, void *arg, vbn_peer_t **peer_p)
{
    API_BY_ONE_THREAD(worker == NULL ? NULL : worker->proto);
    if (worker == NULL || blob == NULL || peer_p == NULL)
        return err_set(VBN_ERR_INVALID, "connect needs a worker, an address and a place for the peer");
    if ((flags & ~VBN_CONNECT_ON_USE) != 0)
        return err_set(VBN_ERR_INVALID, "flags 0x%x; connect knows VBN_CONNECT_ON_USE", flags);
    return flags == 0 ? link_connect(worker->link, blob, length, error_func, arg, peer_p)
                      : link_connect_on_use(worker->link, blob, length, error_func, arg, peer_p);
}

vbn_status_t vbn_connect(vbn_worker_t *worker, const void *blob, size_t length, vbn_peer_error_func_t error_func,
                         void *arg, vbn_peer_t **peer_p)
{
    return vbn_connect_flags(worker, blob, length, 0, error_func, arg, peer_p);
}

void vbn_disconnect(vbn_peer_t *peer, vbn_close_mode_t mode)
{
    API_BY_ONE_THREAD(proto_engine_of_peer(peer));
    if (peer == NULL)
        return;
    proto_forget_low_mark(peer);
    link_disconnect(peer, mode);
}

uint64_t vbn_peer_queued(const vbn_peer_t *peer)
{
    return proto_queued(peer);
}

vbn_status_t vbn_peer_set_low_mark(vbn_peer_t *peer, uint64_t bytes, vbn_low_mark_func_t func, void *arg)
{
    API_BY_ONE_THREAD(proto_engine_of_peer(peer));
    return proto_set_low_mark(peer, bytes, func, arg);
}

void vbn_peer_set_user(vbn_peer_t *peer, void *user)
{
    link_peer_set_user(peer, user);
}

void *vbn_peer_user(const vbn_peer_t *peer)
{
    return link_peer_user(peer);
}

uint64_t vbn_peer_uid(const vbn_peer_t *peer)
{
    return link_peer_uid(peer);
}

vbn_status_t vbn_peer_host_user(const vbn_peer_t *peer, uint32_t *user_p)
{
    if (peer == NULL || user_p == NULL)
        return err_set(VBN_ERR_INVALID, "a peer's user needs a peer and a place for the user id");
    return link_peer_host_user(peer, user_p);
}

size_t vbn_explain(const vbn_peer_t *peer, char *text, size_t capacity)
{
    return link_explain(peer, text, capacity);
}

const char *vbn_peer_transport(const vbn_peer_t *peer)
{
    return peer == NULL ? NULL : link_peer_transport(peer);
}

size_t vbn_explain_call(const vbn_peer_t *peer, vbn_call_t call, size_t size, char *text, size_t capacity)
{
    return proto_explain_call(peer, call, size, text, capacity);
}
