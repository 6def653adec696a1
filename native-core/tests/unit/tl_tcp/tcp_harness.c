/* SPDX-License-Identifier: Apache-2.0
 * tcp_harness.c - see tcp_harness.h. The endpoint's owner is the test's node. */
#include "tcp_harness.h"

#include <linux/sockios.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "tl/tcp/tcp_private.h"

static const uint8_t default_key[32] = {7};
const uint8_t *harness_job_key = default_key;

struct harness {
    void *node;
    harness_upcalls_t upcalls;
    settings_t settings;
    counters_t counters;
    log_sink_t log;
    tl_iface_t *iface;
};

static harness_t *of(tl_ep_t *ep)
{
    return ep->owner;
}

static void on_accepted(void *arg, tl_ep_t *ep)
{
    harness_t *harness = arg;
    ep->owner = harness;
    harness->upcalls.accepted(harness->node, ep);
}

static void on_ready(tl_ep_t *ep)
{
    of(ep)->upcalls.ready(of(ep)->node, ep);
}

static void on_rx(tl_ep_t *ep, const void *header, uint32_t header_bytes, const void *payload, uint32_t payload_bytes)
{
    of(ep)->upcalls.rx(of(ep)->node, ep, header, header_bytes, payload, payload_bytes);
}

static void *on_sink(tl_ep_t *ep, const void *header, uint32_t header_bytes, uint32_t payload_bytes)
{
    return of(ep)->upcalls.sink(of(ep)->node, ep, header, header_bytes, payload_bytes);
}

static bool on_write_begin(tl_ep_t *ep, const void *place)
{
    return of(ep)->upcalls.may_write(of(ep)->node, place);
}

static void on_tx_done(tl_ep_t *ep, void *cookie, vbn_status_t status)
{
    of(ep)->upcalls.tx_done(of(ep)->node, ep, cookie, status);
}

static void on_tx_ready(tl_ep_t *ep)
{
    of(ep)->upcalls.tx_ready(of(ep)->node, ep);
}

static void on_error(tl_ep_t *ep, vbn_status_t status, const char *text)
{
    of(ep)->upcalls.ep_error(of(ep)->node, ep, status, text);
}

static void on_log(void *arg, const vbn_log_record_t *record)
{
    harness_t *harness = arg;
    harness->upcalls.log(harness->node, record);
}

vbn_status_t harness_open(void *node, const harness_upcalls_t *upcalls, const char *const *pairs, harness_t **harness_p)
{
    harness_t *harness = calloc(1, sizeof(*harness));
    if (!harness)
        return VBN_ERR_NO_MEMORY;
    harness->node = node;
    harness->upcalls = *upcalls;
    harness->log = (log_sink_t){.func = on_log, .arg = harness, .level = VBN_LOG_DEBUG};
    settings_defaults(&harness->settings);
    vbn_status_t status = VBN_OK;
    for (size_t i = 0; pairs[i] && status == VBN_OK; i += 2)
        status = settings_set(&harness->settings, pairs[i], pairs[i + 1]);
    tl_params_t params = {.settings = &harness->settings,
                          .log = &harness->log,
                          .counters = &harness->counters,
                          .worker_uid = 1,
                          .job_key = harness_job_key,
                          .upcalls = {.arg = harness,
                                      .accepted = on_accepted,
                                      .ready = on_ready,
                                      .rx = on_rx,
                                      .sink = upcalls->sink ? on_sink : NULL,
                                      .write_begin = upcalls->may_write ? on_write_begin : NULL,
                                      .tx_done = on_tx_done,
                                      .tx_ready = on_tx_ready,
                                      .ep_error = on_error}};
    if (status == VBN_OK)
        status = tl_tcp_ops.open(&params, &harness->iface);
    if (status != VBN_OK) {
        free(harness);
        return status;
    }
    *harness_p = harness;
    return VBN_OK;
}

void harness_close(harness_t *harness)
{
    tl_tcp_ops.close(harness->iface);
    free(harness);
}

bool harness_asks(harness_t *harness)
{
    return tl_tcp_ops.waiting(harness->iface);
}

unsigned harness_progress(harness_t *harness)
{
    return tl_tcp_ops.progress(harness->iface);
}

vbn_status_t harness_arm(harness_t *harness)
{
    return tl_tcp_ops.arm(harness->iface);
}

int harness_event_fd(const harness_t *harness)
{
    return tl_tcp_ops.event_fd(harness->iface);
}

vbn_status_t harness_address(const harness_t *harness, void *buffer, size_t *length_p)
{
    return tl_tcp_ops.address(harness->iface, buffer, length_p);
}

vbn_status_t harness_reachable(const harness_t *harness, const void *address, size_t length, char *reason,
                               size_t capacity)
{
    return tl_tcp_ops.reachable(harness->iface, address, length, reason, capacity);
}

vbn_status_t harness_connect(harness_t *harness, const void *address, size_t length, struct tl_ep **ep_p)
{
    return tl_tcp_ops.connect(harness->iface, address, length, harness, ep_p);
}

vbn_status_t harness_trust(struct tl_ep *ep)
{
    return tl_tcp_ops.trust(ep);
}

void harness_disconnect(struct tl_ep *ep, vbn_close_mode_t mode, uint64_t timeout_ns)
{
    tl_tcp_ops.disconnect(ep, mode, timeout_ns);
}

vbn_status_t harness_send(struct tl_ep *ep, const void *header, uint32_t header_bytes, const struct iovec *iov,
                          uint32_t iov_count, void *cookie)
{
    tl_packet_t packet = {
        .header = header, .header_bytes = header_bytes, .iov = iov, .iov_count = iov_count, .cookie = cookie};
    for (uint32_t i = 0; i < iov_count; i++)
        packet.payload_bytes += (uint32_t)iov[i].iov_len;
    return tl_tcp_ops.send(ep, &packet);
}

vbn_status_t harness_send_patient(struct tl_ep *ep, const void *header, uint32_t header_bytes)
{
    tl_packet_t packet = {.header = header, .header_bytes = header_bytes, .patient = true};
    return tl_tcp_ops.send(ep, &packet);
}

void harness_resink(struct tl_ep *ep)
{
    tl_tcp_ops.resink(ep);
}

unsigned harness_buffers(const harness_t *harness)
{
    const tcp_iface_t *iface = (const tcp_iface_t *)harness->iface;
    unsigned count = 0;
    for (const list_link_t *link = iface->eps.next; link != &iface->eps; link = link->next)
        count += container_of(link, const tcp_ep_t, all)->rx != NULL;
    return count;
}

unsigned harness_watched(const harness_t *harness)
{
    const tcp_iface_t *iface = (const tcp_iface_t *)harness->iface;
    unsigned count = 0;
    list_for_each(link, &iface->watched)
        count++;
    return count;
}

uint64_t harness_counter(const harness_t *harness, const char *name)
{
    for (int id = 0; id < COUNTER_COUNT; id++)
        if (strcmp(counter_name((counter_id_t)id), name) == 0)
            return atomic_get_relaxed(&harness->counters.values[id]);
    abort(); /* a test asks for a counter that does not exist */
}

uint32_t harness_packet_max(const harness_t *harness)
{
    return tl_tcp_ops.caps(harness->iface)->packet_max;
}

int harness_unsent(const struct tl_ep *ep)
{
    int bytes;
    return ioctl(((const tcp_ep_t *)ep)->fd, SIOCOUTQNSD, &bytes) == 0 ? bytes : -1;
}

unsigned harness_waiting(const harness_t *harness)
{
    return tcp_iface_of(harness->iface)->guest_count;
}

size_t harness_untrusted_bytes(void)
{
    return sizeof(tcp_ep_t) + sizeof(tcp_source_t) + TCP_RX_OPENING_BYTES +
           TCP_TX_QUEUE_OPENING * ((sizeof(tcp_tx_t) + 63u) & ~(size_t)63u);
}
