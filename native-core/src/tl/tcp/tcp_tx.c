/* SPDX-License-Identifier: Apache-2.0
 * tcp_tx.c - sending: one sendmsg() per packet while the socket takes it, else a bounded queue. Answers to packets that
 * came together leave together: while more received packets wait to be handed up, small ones are queued, and written when
 * the buffer has been handed up (tcp_rx.c). Of many that the worker sends in one turn, those whose sender has to come back
 * for a completion or an answer wait for each other as well (one_of_many). */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "tl/tcp/tcp_private.h"

#define WRITES_PER_PROGRESS 16

static void tx_start(tcp_tx_t *tx, const tl_packet_t *packet)
{
    tcp_frame_encode(tx->head, packet->header_bytes, packet->payload_bytes);
    memcpy(tx->head + TCP_PREFIX_BYTES, packet->header, packet->header_bytes);
    tx->cookie = packet->cookie;
    tx->copy = NULL;
    tx->iov = packet->iov;
    tx->iov_count = packet->iov_count;
    tx->lease = packet->lease;
    tx->iov_index = 0;
    tx->iov_offset = 0;
    tx->head_bytes = TCP_PREFIX_BYTES + packet->header_bytes;
    tx->head_offset = 0;
    tx->rest_bytes = tx->head_bytes + (size_t)packet->payload_bytes;
}

/* A small payload goes into the head: one piece to write, and the caller's memory is free at once. */
static void tx_inline(tcp_tx_t *tx)
{
    uint8_t *to = tx->head + tx->head_bytes;
    for (uint32_t i = 0; i < tx->iov_count; i++) {
        if (tx->iov[i].iov_len > 0) /* an empty entry may have no address */
            memcpy(to, tx->iov[i].iov_base, tx->iov[i].iov_len);
        to += tx->iov[i].iov_len;
    }
    tx->head_bytes = (uint32_t)tx->rest_bytes;
    tx->iov_count = 0;
    tx->cookie = NULL;
    tx->lease = NULL;
}

/* Adds the pieces that are not written yet; returns how many of `room` were used. */
static size_t tx_gather(const tcp_tx_t *tx, struct iovec *out, size_t room)
{
    size_t used = 0;
    if (tx->head_offset < tx->head_bytes && room > 0) {
        out[used].iov_base = (void *)(uintptr_t)(tx->head + tx->head_offset);
        out[used++].iov_len = tx->head_bytes - tx->head_offset;
    }
    size_t offset = tx->iov_offset;
    for (uint32_t i = tx->iov_index; i < tx->iov_count && used < room; i++) {
        size_t left = tx->iov[i].iov_len - offset;
        if (left > 0) { /* an empty entry may have no address */
            out[used].iov_base = (char *)tx->iov[i].iov_base + offset;
            out[used++].iov_len = left;
        }
        offset = 0;
    }
    return used;
}

/* Marks up to n bytes as written; returns what is left of n. */
static size_t tx_advance(tcp_tx_t *tx, size_t n)
{
    size_t mine = n < tx->rest_bytes ? n : tx->rest_bytes;
    size_t left = mine;
    size_t head = tx->head_bytes - tx->head_offset;
    size_t step = left < head ? left : head;
    tx->head_offset += (uint32_t)step;
    left -= step;
    while (left > 0) {
        size_t piece = tx->iov[tx->iov_index].iov_len - tx->iov_offset;
        step = left < piece ? left : piece;
        tx->iov_offset += step;
        left -= step;
        if (step == piece) {
            tx->iov_index++;
            tx->iov_offset = 0;
        }
    }
    tx->rest_bytes -= mine;
    return n - mine;
}

static ssize_t write_pieces(const tcp_ep_t *ep, struct iovec *pieces, size_t count)
{
    counter_add(ep->iface->params.counters, COUNTER_TCP_TX_WRITES, 1);
    if (ep->tls != NULL)
        return tcp_tls_write(ep->tls, pieces, count);
    int fd = ep->fd;
    struct msghdr message = {.msg_iov = pieces, .msg_iovlen = count};
    ssize_t n;
    do
        n = count == 1 ? send(fd, pieces->iov_base, pieces->iov_len, MSG_NOSIGNAL | MSG_DONTWAIT)
                       : sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    return n;
}

/* Writes one packet as far as the socket takes it: 0, or errno (EAGAIN: full). */
static int tx_write(const tcp_ep_t *ep, tcp_tx_t *tx)
{
    struct iovec pieces[TCP_TX_IOVS];
    while (tx->rest_bytes > 0) {
        size_t count = tx_gather(tx, pieces, TCP_TX_IOVS);
        ssize_t n = write_pieces(ep, pieces, count);
        if (n < 0)
            return errno == EWOULDBLOCK ? EAGAIN : errno;
        (void)tx_advance(tx, (size_t)n);
    }
    return 0;
}

static vbn_status_t enqueue(tcp_ep_t *ep, const tcp_tx_t *from)
{
    tcp_tx_t *tx = mpool_get(&ep->iface->tx_pool);
    if (!tx)
        return VBN_ERR_NO_MEMORY;
    memcpy(tx, from, offsetof(tcp_tx_t, head) + from->head_bytes);
    if (!tx->cookie && tcp_tx_own(tx) != VBN_OK) {
        tcp_tx_free(ep, tx);
        return VBN_ERR_NO_MEMORY;
    }
    list_append(&ep->tx, &tx->link);
    ep->tx_count++;
    vbn_status_t status = ep->state == TCP_CONNECTING || ep->gathering ? VBN_OK : tcp_ep_watch(ep);
    if (status != VBN_OK) {
        list_remove(&tx->link);
        ep->tx_count--;
        tcp_tx_free(ep, tx);
        return status;
    }
    return tx->cookie ? VBN_INPROGRESS : VBN_OK;
}

static uint32_t queue_limit(const tcp_ep_t *ep)
{
    return list_empty(&ep->untrusted) ? TCP_TX_QUEUE : TCP_TX_QUEUE_OPENING;
}

static vbn_status_t check_packet(const tcp_ep_t *ep, const tl_packet_t *packet)
{
    uint32_t limit = ep->state == TCP_READY ? ep->iface->caps.packet_max : TL_SIGNAL_MAX;
    if (packet->header_bytes == 0 || packet->header_bytes > TL_HEADER_MAX || packet->header_bytes > limit ||
        packet->payload_bytes > limit - packet->header_bytes)
        return err_set(VBN_ERR_INVALID, "packet of %u + %u bytes, at most %u are allowed now", packet->header_bytes,
                       packet->payload_bytes, limit);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < packet->iov_count; i++)
        sum += packet->iov[i].iov_len;
    if (sum != packet->payload_bytes)
        return err_set(VBN_ERR_INVALID, "iov holds %llu bytes, payload_bytes says %u", (unsigned long long)sum,
                       packet->payload_bytes);
    return VBN_OK;
}

static vbn_status_t break_ep(tcp_ep_t *ep, int error)
{
    char text[TCP_ENDPOINT_TEXT];
    tcp_ep_peer_text(ep, text);
    ep->broken = error;
    tcp_ep_pend(ep); /* T3 */
    return err_set(VBN_ERR_PEER_LOST, "cannot send to %s: %s", text, strerror(error));
}

/* Packets from the queue's head that fit one sendmsg(), inside the leases of each. *lost_p: the first one's bytes are
 * gone. */
static unsigned gather_queue(const tcp_ep_t *ep, bool wait, struct iovec *pieces, size_t *count_p, bool *lost_p)
{
    unsigned packets = 0;
    list_for_each(link, &ep->tx) {
        tcp_tx_t *tx = container_of(link, tcp_tx_t, link);
        mem_lease_state_t state = *count_p == TCP_TX_IOVS ? MEM_LEASE_WAIT
                                                          : mem_lease_enter(tx->lease, wait && packets == 0);
        *lost_p = state == MEM_LEASE_LOST && packets == 0;
        if (state != MEM_LEASE_IN)
            break;
        *count_p += tx_gather(tx, pieces + *count_p, TCP_TX_IOVS - *count_p);
        packets++;
    }
    return packets;
}

static void leave_queue(const tcp_ep_t *ep, unsigned packets)
{
    list_for_each(link, &ep->tx) {
        if (packets-- == 0)
            return;
        mem_lease_leave(container_of(link, tcp_tx_t, link)->lease);
    }
}

/* One sendmsg() for as many queued packets as fit it. wait: the caller is inside no lease. false: no more for now. */
static bool write_queue(tcp_ep_t *ep, bool wait)
{
    struct iovec pieces[TCP_TX_IOVS];
    size_t count = 0;
    bool lost = false;
    unsigned packets = gather_queue(ep, wait, pieces, &count, &lost);
    if (lost)
        (void)break_ep(ep, ENOMEM);
    if (packets == 0)
        return false;
    ssize_t n = write_pieces(ep, pieces, count);
    int error = errno; /* leaving may free */
    leave_queue(ep, packets);
    errno = error;
    if (n < 0) {
        if (errno != EAGAIN && errno != EWOULDBLOCK)
            (void)break_ep(ep, errno);
        return false;
    }
    size_t left = (size_t)n;
    while (!list_empty(&ep->tx)) {
        tcp_tx_t *tx = container_of(ep->tx.next, tcp_tx_t, link);
        left = tx_advance(tx, left);
        if (tx->rest_bytes > 0)
            break;
        list_remove(&tx->link);
        list_append(&ep->written, &tx->link);
        ep->tx_count--;
    }
    return true;
}

static bool has_company(const tcp_ep_t *ep, const tcp_tx_t *tx)
{
    return ep->delivering && ep->rx_head < ep->rx_tail && ep->state == TCP_READY && tx->rest_bytes <= TCP_TX_TOGETHER;
}

/* The third packet and those behind it that leave in one turn of the worker, and whose sender has to come back for their
 * completion anyway, are written together: at the next progress(), or when they are TCP_TX_BATCH bytes. */
static bool one_of_many(tcp_ep_t *ep, const tcp_tx_t *tx, bool patient)
{
    if (ep->turn != ep->iface->turn) {
        ep->turn = ep->iface->turn;
        ep->turn_packets = 0;
    }
    if (++ep->turn_packets <= TCP_TX_ALONE || (tx->cookie == NULL && !patient) || tx->rest_bytes > TCP_TX_BATCH / 2 ||
        ep->state != TCP_READY || ep->iface->progressing)
        return false;
    ep->queued_bytes = 0;
    tcp_ep_pend(ep);
    return true;
}

/* What was written is reported in progress(); epoll tells when the socket takes what it did not take now. */
static void write_batch(tcp_ep_t *ep)
{
    ep->gathering = false;
    (void)write_queue(ep, false); /* from send(), which may be inside the lease of its packet */
    if (ep->tx_count > 0 && !ep->broken && tcp_ep_watch(ep) != VBN_OK)
        (void)break_ep(ep, ENOMEM);
}

vbn_status_t tcp_send(tl_ep_t *base, const tl_packet_t *packet)
{
    tcp_ep_t *ep = tcp_ep_of(base);
    tcp_iface_t *iface = ep->iface;
    if (ep->state > TCP_READY || (ep->broken && ep->state != TCP_CONNECTING))
        return err_set(VBN_ERR_PEER_LOST, "the tcp connection is broken");
    vbn_status_t status = check_packet(ep, packet);
    if (status != VBN_OK)
        return status;
    if (ep->tx_count >= queue_limit(ep)) {
        ep->want_tx_ready = true;
        return VBN_BUSY;
    }
    tcp_tx_t tx;
    tx_start(&tx, packet);
    if (packet->payload_bytes > 0 && tx.rest_bytes <= sizeof(tx.head))
        tx_inline(&tx);
    if (ep->tx_count == 0 && (has_company(ep, &tx) || one_of_many(ep, &tx, packet->patient)))
        ep->gathering = true;
    int error = ep->tx_count || ep->gathering || ep->state == TCP_CONNECTING ? EAGAIN : tx_write(ep, &tx);
    if (error == EAGAIN) {
        counter_add(iface->params.counters, COUNTER_TCP_SOCKET_FULL, !ep->gathering);
        status = enqueue(ep, &tx);
        error = status < 0 ? ENOMEM : 0;
    }
    if (error)
        return break_ep(ep, error);
    if (ep->gathering && !ep->delivering && (ep->queued_bytes += (uint32_t)tx.rest_bytes) >= TCP_TX_BATCH)
        write_batch(ep);
    tcp_alive_wrote(ep);
    counter_add(iface->params.counters, COUNTER_TCP_TX_PACKETS, 1);
    counter_add(iface->params.counters, COUNTER_TCP_TX_BYTES, packet->header_bytes + (uint64_t)packet->payload_bytes);
    return status;
}

/* Tells the owner about written packets. After an upcall that disconnected, the rest is only freed. */
static unsigned complete(tcp_ep_t *ep)
{
    unsigned count = 0;
    list_link_t *link;
    while ((link = list_pop(&ep->written)) != NULL) {
        tcp_tx_t *tx = container_of(link, tcp_tx_t, link);
        void *cookie = tx->cookie;
        tcp_tx_free(ep, tx);
        count++;
        if (cookie && !ep->detached && tcp_ep_is_open(ep))
            ep->iface->params.upcalls.tx_done(&ep->base, cookie, VBN_OK);
    }
    return count;
}

unsigned tcp_tx_progress(tcp_ep_t *ep)
{
    unsigned completed = 0;
    bool more = true;
    ep->gathering = false;
    for (int i = 0; i < WRITES_PER_PROGRESS && ep->tx_count && more && !ep->broken && tcp_ep_is_open(ep); i++) {
        more = write_queue(ep, true);
        completed += complete(ep);
    }
    if (!list_empty(&ep->written))
        completed += complete(ep);
    if (!tcp_ep_is_open(ep))
        return completed;
    if (tcp_ep_watch(ep) != VBN_OK)
        (void)break_ep(ep, ENOMEM);
    if (ep->want_tx_ready && ep->tx_count <= queue_limit(ep) / 2 && !ep->broken) {
        ep->want_tx_ready = false;
        ep->iface->params.upcalls.tx_ready(&ep->base);
    }
    tcp_ep_flush_step(ep);
    return completed;
}
