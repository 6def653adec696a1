/* SPDX-License-Identifier: Apache-2.0
 * transports.c - opens each transport, passes a message over it and says what was chosen and why. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "info.h"
#include "tl/verbs/verbs_info.h"

static void quiet(void *arg, const vbn_log_record_t *record)
{
    (void)arg;
    (void)record;
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
    tell(arg, row, usable ? GRADE_OK : GRADE_SLOWER, usable ? NULL : "the text above has the cure", "%s", text);
}

/* What workers take of them, by VBN_TL_VERBS_DEVICE of the environment, and why. */
static void tell_choice(report_t *report, const here_t *here)
{
    char text[256];
    vbn_status_t status = VBN_OK;
    for (unsigned device = 0; status == VBN_OK; device++) {
        status = verbs_info_choice(&here->settings, device, text, sizeof(text));
        if (status == VBN_OK)
            tell(report, device == 0 ? "taken" : "taken too", GRADE_OK, NULL, "%s", text);
    }
    if (status != VBN_ERR_INVALID)
        tell(report, "taken", GRADE_MISSING, "the text above has the cure", "none: %s", vbn_error_text());
}

/* A name in the list of tl.enable. */
static bool enabled(const here_t *here, const char *name)
{
    const char *at = here->settings.tl_enable;
    size_t length = strlen(name);
    for (at += strspn(at, " ,"); *at != '\0'; at += strcspn(at, " ,"), at += strspn(at, " ,"))
        if (strcspn(at, " ,") == length && memcmp(at, name, length) == 0)
            return true;
    return false;
}

void tell_devices(report_t *report, const here_t *here)
{
    if (verbs_info_list(tell_port, report) == VBN_OK) {
        tell_choice(report, here);
        tell_transport(report, here, "rc");
        tell_transport(report, here, "ud");
        bool there = verbs_info_cm() == VBN_OK;
        tell(report, "rdma_cm", there ? GRADE_OK : GRADE_SLOWER,
             there ? NULL : "only iWARP and tl.verbs.connect=cm need it", "%s",
             there ? "can connect rc: on iWARP devices always, else with tl.verbs.connect=cm" : vbn_error_text());
        return;
    }
    bool asked = !settings_is_default(&here->settings, "tl.enable") && (enabled(here, "rc") || enabled(here, "ud"));
    tell(
        report, "RDMA devices", asked ? GRADE_SLOWER : GRADE_NONE,
        asked
            ? "tl.enable names rc or ud, which need one: load its driver (docs/verbs.md), or make a software one with: rdma link "
              "add rxe0 type rxe netdev eth0"
            : NULL,
        "%s", vbn_error_text());
}

/* A context as every program here opens it, but without log lines and without a job key. */
static vbn_status_t open_context(const char *transports, vbn_context_t **context_p)
{
    vbn_config_t *config = NULL;
    vbn_status_t status = vbn_config_create(&config);
    if (status != VBN_OK)
        return status;
    vbn_config_set_log(config, quiet, NULL);
    if (transports != NULL)
        status = vbn_config_set(config, "tl.enable", transports);
    if (status == VBN_OK)
        status = vbn_config_set(config, "security.auth", "none");
    if (status == VBN_OK)
        status = vbn_open(config, context_p);
    vbn_config_destroy(config);
    return status;
}

void tell_worker(report_t *report, const here_t *here)
{
    vbn_context_t *context = NULL;
    vbn_worker_t *worker = NULL;
    vbn_status_t status = open_context(NULL, &context);
    if (status == VBN_OK)
        status = vbn_worker_create(context, &worker);
    if (status == VBN_OK)
        tell(report, "worker", GRADE_OK, NULL, "opens, with tl.enable=%s", here->settings.tl_enable);
    else
        tell(report, "worker", GRADE_MISSING,
             "no program here can open one; the text above names the setting or command that helps", "%s: %s",
             vbn_status_name(status), vbn_error_text());
    if (here->foreign[0] != '\0')
        tell(report, "environment", GRADE_OK, NULL, "no settings of Verbena, ignored: %s", here->foreign);
    if (worker != NULL)
        vbn_worker_destroy(worker);
    if (context != NULL)
        (void)vbn_close(context);
}

void tell_transport(report_t *report, const here_t *here, const char *name)
{
    vbn_context_t *context = NULL;
    char why[512] = "";
    char row[32];
    (void)snprintf(row, sizeof(row), "transport %s", name);
    if (!enabled(here, name)) {
        tell(report, row, GRADE_OFF, NULL, "not in tl.enable=%s", here->settings.tl_enable);
        return;
    }
    vbn_status_t status = open_context(name, &context);
    if (status == VBN_OK)
        status = open_pair(context, strcmp(name, "self") == 0, why, sizeof(why));
    if (status == VBN_OK)
        tell(report, row, GRADE_OK, NULL, "%s", why);
    else
        tell(report, row, GRADE_MISSING, "the text above names the setting or command that helps", "%s: %s",
             vbn_status_name(status), vbn_error_text());
    if (context != NULL)
        (void)vbn_close(context);
}
