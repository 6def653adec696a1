/* SPDX-License-Identifier: Apache-2.0
 * peer.c - which transport and which ways would be used towards a given worker, and a worker to try it with. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "info.h"

typedef struct lost {
    vbn_status_t status; /* 0: the peer is not lost */
    char text[1024];
} lost_t;

typedef struct node {
    vbn_config_t *config;
    vbn_context_t *context;
    vbn_worker_t *workers[2]; /* the second one stays NULL */
} node_t;

/* Bytes of hexadecimal text, blanks at its end left out; 0 when it is anything else or too long. */
static size_t from_hex(const char *text, uint8_t *bytes, size_t capacity)
{
    size_t digits = strspn(text, "0123456789abcdefABCDEF");
    if (digits % 2 != 0 || digits / 2 > capacity || text[digits + strspn(text + digits, " \r\n")] != '\0')
        return 0;
    for (size_t i = 0; i < digits / 2; i++) {
        const char pair[3] = {text[2 * i], text[2 * i + 1], '\0'};
        bytes[i] = (uint8_t)strtoul(pair, NULL, 16);
    }
    return digits / 2;
}

static void close_node(node_t *node)
{
    if (node->workers[0] != NULL)
        vbn_worker_destroy(node->workers[0]);
    if (node->context != NULL)
        (void)vbn_close(node->context);
    if (node->config != NULL)
        vbn_config_destroy(node->config);
}

/* All transports and settings as they are for any program here, by VBN_* of the environment. */
static vbn_status_t open_node(node_t *node, const char *key_file)
{
    vbn_status_t status = vbn_config_create(&node->config);
    if (status == VBN_OK)
        status = key_file != NULL ? vbn_config_read_job_key(node->config, key_file)
                                  : vbn_config_set(node->config, "security.auth", "none");
    if (status == VBN_OK)
        status = vbn_open(node->config, &node->context);
    if (status == VBN_OK)
        status = vbn_worker_create(node->context, &node->workers[0]);
    return status;
}

static void serve(vbn_worker_t *worker, unsigned seconds)
{
    struct timespec start;
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &start);
    now = start;
    while ((uint64_t)(now.tv_sec - start.tv_sec) < seconds) {
        if (vbn_progress(worker) == 0 && vbn_arm(worker) == VBN_OK) {
            struct pollfd fd = {.fd = vbn_event_fd(worker), .events = POLLIN};
            (void)poll(&fd, 1, 200);
        }
        (void)clock_gettime(CLOCK_MONOTONIC, &now);
    }
}

int listen_for(const char *key_file, unsigned seconds)
{
    node_t node = {0};
    uint8_t blob[VBN_ADDRESS_MAX];
    size_t length = sizeof(blob);
    vbn_status_t status = open_node(&node, key_file);
    if (status == VBN_OK)
        status = vbn_worker_address(node.workers[0], blob, &length);
    if (status != VBN_OK)
        info_fail("cannot open a worker: %s", vbn_error_text());
    for (size_t i = 0; i < length; i++)
        printf("%02x", blob[i]);
    printf("\n");
    (void)fflush(stdout);
    serve(node.workers[0], seconds);
    close_node(&node);
    return 0;
}

static void tell_calls(report_t *report, const vbn_peer_t *peer)
{
    static const struct {
        const char *name;
        vbn_call_t call;
        size_t sizes[3]; /* 0 ends */
    } CALLS[] = {{"message", VBN_CALL_AM, {8, 65536, 0}},
                 {"tagged message", VBN_CALL_TAG, {8, 65536, 0}},
                 {"put", VBN_CALL_PUT, {8, 1 << 20, 0}},
                 {"get", VBN_CALL_GET, {8, 1 << 20, 0}},
                 {"atomic", VBN_CALL_ATOMIC, {8, 0}}};
    for (size_t i = 0; i < sizeof(CALLS) / sizeof(CALLS[0]); i++) {
        for (const size_t *size = CALLS[i].sizes; *size > 0; size++) {
            char text[1024];
            (void)vbn_explain_call(peer, CALLS[i].call, *size, text, sizeof(text));
            tell(report, CALLS[i].name, GRADE_OK, NULL, "%s", text);
        }
    }
}

static void on_lost(void *arg, vbn_peer_t *peer, vbn_status_t status, const char *text)
{
    lost_t *lost = arg;
    (void)peer;
    lost->status = status;
    (void)snprintf(lost->text, sizeof(lost->text), "%s", text);
}

/* True when it is connected: nothing else can be said about a peer that is not. */
static bool tell_connection(report_t *report, const node_t *node, vbn_peer_t *peer, lost_t *lost)
{
    vbn_status_t status = round_trip(node->workers, peer);
    char why[1024];
    (void)vbn_explain(peer, why, sizeof(why));
    if (lost->status == 0)
        (void)snprintf(lost->text, sizeof(lost->text), "%s",
                       status == VBN_ERR_TIMEOUT ? "no answer within 5 s" : vbn_error_text());
    if (status == VBN_OK)
        tell(report, "connection", GRADE_OK, NULL, "a message went there and back over %s", why);
    else if (status == VBN_ERR_AUTH || lost->status == VBN_ERR_AUTH)
        tell(report, "connection", GRADE_MISSING, "give the job's key with --key FILE",
             "the peer is there and refuses this program: %s", lost->text);
    else
        tell(report, "connection", GRADE_MISSING,
             "see that the process of this address still runs; the text names the rest", "%s: %s",
             vbn_status_name(status), lost->text);
    return status == VBN_OK;
}

void tell_peer(report_t *report, const char *key_file, const char *address)
{
    node_t node = {0};
    lost_t lost = {0};
    vbn_peer_t *peer = NULL;
    uint8_t blob[VBN_ADDRESS_MAX];
    size_t length = from_hex(address, blob, sizeof(blob));
    if (length == 0)
        info_fail("the address must be one that vbn-info --listen prints: hexadecimal digits, at most %d",
                  2 * VBN_ADDRESS_MAX);
    if (open_node(&node, key_file) != VBN_OK)
        info_fail("cannot open a worker: %s", vbn_error_text());
    vbn_status_t status = vbn_connect(node.workers[0], blob, length, on_lost, &lost, &peer);
    if (status == VBN_OK) {
        if (tell_connection(report, &node, peer, &lost))
            tell_calls(report, peer);
        vbn_disconnect(peer, VBN_CLOSE_NOW);
    } else {
        tell(report, "connection", GRADE_MISSING, "the text above names the setting or command that helps", "%s: %s",
             vbn_status_name(status), vbn_error_text());
    }
    close_node(&node);
}
