/* SPDX-License-Identifier: Apache-2.0
 * tcp_harness.h - one TCP interface with settings, counters and upcalls, in a form that C++ can include. */
#ifndef VBN_TESTS_TCP_HARNESS_H
#define VBN_TESTS_TCP_HARNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "vbn/vbn.h"

typedef struct harness harness_t;
struct tl_ep;

/* `node` is the pointer given to harness_open. */
typedef struct harness_upcalls {
    void (*accepted)(void *node, struct tl_ep *ep);
    void (*ready)(void *node, struct tl_ep *ep);
    void (*rx)(void *node, struct tl_ep *ep, const void *header, uint32_t header_bytes, const void *payload,
               uint32_t payload_bytes);
    void *(*sink)(void *node, struct tl_ep *ep, const void *header, uint32_t header_bytes, uint32_t payload_bytes);
    bool (*may_write)(void *node, const void *place); /* NULL: always */
    void (*tx_done)(void *node, struct tl_ep *ep, void *cookie, vbn_status_t status);
    void (*tx_ready)(void *node, struct tl_ep *ep);
    void (*ep_error)(void *node, struct tl_ep *ep, vbn_status_t status, const char *text);
    void (*log)(void *node, const vbn_log_record_t *record);
} harness_upcalls_t;

/* Job key of the harnesses opened from now on; NULL: none. */
extern const uint8_t *harness_job_key;
/* pairs: key, value, key, value, NULL. */
vbn_status_t harness_open(void *node, const harness_upcalls_t *upcalls, const char *const *pairs,
                          harness_t **harness_p);
void harness_close(harness_t *harness);
unsigned harness_progress(harness_t *harness);
vbn_status_t harness_arm(harness_t *harness);
bool harness_asks(harness_t *harness); /* as a worker that is about to sleep: whether something waits */
int harness_event_fd(const harness_t *harness);
vbn_status_t harness_address(const harness_t *harness, void *buffer, size_t *length_p);
vbn_status_t harness_reachable(const harness_t *harness, const void *address, size_t length, char *reason,
                               size_t capacity);
vbn_status_t harness_connect(harness_t *harness, const void *address, size_t length, struct tl_ep **ep_p);
vbn_status_t harness_trust(struct tl_ep *ep);
void harness_disconnect(struct tl_ep *ep, vbn_close_mode_t mode, uint64_t timeout_ns);
vbn_status_t harness_send(struct tl_ep *ep, const void *header, uint32_t header_bytes, const struct iovec *iov,
                          uint32_t iov_count, void *cookie);
/* A request without payload, for whose answer the sender comes back. */
vbn_status_t harness_send_patient(struct tl_ep *ep, const void *header, uint32_t header_bytes);
void harness_resink(struct tl_ep *ep);
uint64_t harness_counter(const harness_t *harness, const char *name);
uint32_t harness_packet_max(const harness_t *harness);
unsigned harness_buffers(const harness_t *harness); /* endpoints that have a receive buffer */
unsigned harness_watched(const harness_t *harness); /* endpoints whose peer may not have all yet */
int harness_unsent(const struct tl_ep *ep);         /* bytes in the socket that have not been sent yet, or -1 */
unsigned harness_waiting(const harness_t *harness); /* connections that wait for a place of an unauthenticated one */
/* Heap bytes that one accepted connection holds at most before it is trusted. */
size_t harness_untrusted_bytes(void);

#endif
