/* SPDX-License-Identifier: Apache-2.0
 * transports.c - opens each transport, passes a message over it and says what was chosen and why. */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "info.h"
#include "tl/verbs/verbs_info.h"

static void quiet(void *arg, vbn_log_level_t level, const char *line)
{
    (void)arg;
    (void)level;
    (void)line;
}

vbn_status_t round_trip(vbn_worker_t *const workers[2], vbn_peer_t *peer)
{
    vbn_op_t op = {0};
    struct timespec start;
    struct timespec now;
    vbn_status_t status = vbn_am_send(peer, 0, NULL, 0, NULL, 0, VBN_AM_PULL, &op);
    (void)clock_gettime(CLOCK_MONOTONIC, &start);
    now = start;
    while (status >= 0 && op.complete == 0 && now.tv_sec - start.tv_sec < 5) {
        (void)vbn_progress(workers[0]);
        if (workers[1] != NULL)
            (void)vbn_progress(workers[1]);
        (void)clock_gettime(CLOCK_MONOTONIC, &now);
    }
    if (status < 0)
        return status;
    if (op.complete == 0)
        return VBN_ERR_TIMEOUT;
    return op.status == VBN_ERR_UNSUPPORTED ? VBN_OK : (vbn_status_t)op.status;
}

/* Connects a worker to a second one (self: to itself). */
static vbn_status_t open_pair(vbn_context_t *context, bool self, char *why, size_t capacity)
{
    vbn_worker_t *workers[2] = {NULL, NULL};
    vbn_peer_t *peer = NULL;
    uint8_t blob[VBN_ADDRESS_MAX];
    size_t length = sizeof(blob);
    vbn_status_t status = vbn_worker_create(context, &workers[0]);
    if (status == VBN_OK && !self)
        status = vbn_worker_create(context, &workers[1]);
    if (status == VBN_OK)
        status = vbn_worker_address(workers[self ? 0 : 1], blob, &length);
    if (status == VBN_OK)
        status = vbn_connect(workers[0], blob, length, NULL, NULL, &peer);
    if (status == VBN_OK) {
        status = round_trip(workers, peer);
        (void)vbn_explain(peer, why, capacity);
        vbn_disconnect(peer, VBN_CLOSE_NOW);
    }
    for (int i = 0; i < 2; i++)
        if (workers[i] != NULL)
            vbn_worker_destroy(workers[i]);
    return status;
}

static void tell_port(void *arg, bool usable, const char *name, const char *text)
{
    char row[96];
    (void)snprintf(row, sizeof(row), "device %s", name);
    tell(arg, row, usable ? GRADE_OK : GRADE_SLOWER, usable ? NULL : "the text above says what to do", "%s", text);
}

/* What workers take of them, by VBN_TL_VERBS_DEVICE of the environment, and why. */
static void tell_choice(report_t *report)
{
    settings_t settings;
    char text[256];
    settings_defaults(&settings);
    vbn_status_t status = settings_from_env(&settings, environ);
    for (unsigned device = 0; status == VBN_OK; device++) {
        status = verbs_info_choice(&settings, device, text, sizeof(text));
        if (status == VBN_OK)
            tell(report, device == 0 ? "taken" : "taken too", GRADE_OK, NULL, "%s", text);
    }
    if (status != VBN_ERR_INVALID)
        tell(report, "taken", GRADE_MISSING, "the text above says what to do", "none: %s", vbn_error_text());
}

void tell_devices(report_t *report)
{
    if (verbs_info_list(tell_port, report) == VBN_OK) {
        tell_choice(report);
        tell_transport(report, "rc");
        tell_transport(report, "ud");
        bool there = verbs_info_cm() == VBN_OK;
        tell(report, "rdma_cm", there ? GRADE_OK : GRADE_SLOWER, there ? NULL : "only iWARP and tl.verbs.connect=cm need it",
             "%s", there ? "can connect rc: on iWARP devices always, else with tl.verbs.connect=cm" : vbn_error_text());
        return;
    }
    tell(report, "RDMA devices", GRADE_OK, NULL, "none: %s", vbn_error_text());
}

void tell_transport(report_t *report, const char *name)
{
    vbn_config_t *config = NULL;
    vbn_context_t *context = NULL;
    char why[512] = "";
    vbn_status_t status = vbn_config_create(&config);
    if (status == VBN_OK) {
        vbn_config_set_log(config, quiet, NULL);
        status = vbn_config_set(config, "tl.enable", name);
    }
    if (status == VBN_OK)
        status = vbn_config_set(config, "security.auth", "none");
    if (status == VBN_OK)
        status = vbn_open(config, &context);
    if (status == VBN_OK)
        status = open_pair(context, strcmp(name, "self") == 0, why, sizeof(why));
    char row[32];
    (void)snprintf(row, sizeof(row), "transport %s", name);
    if (status == VBN_OK)
        tell(report, row, GRADE_OK, NULL, "%s", why);
    else
        tell(report, row, GRADE_MISSING, "the text above names the setting or command that helps", "%s: %s",
             vbn_status_name(status), vbn_error_text());
    if (context != NULL)
        (void)vbn_close(context);
    if (config != NULL)
        vbn_config_destroy(config);
}
