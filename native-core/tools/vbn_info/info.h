/* SPDX-License-Identifier: Apache-2.0
 * info.h - what the parts of vbn-info share. */
#ifndef VBN_INFO_H
#define VBN_INFO_H

#include <stdbool.h>

#include "base/settings.h"
#include "tool.h"
#include "vbn/vbn.h"

#define INFO_NAME "vbn-info"
#define info_fail(...) tool_fail(INFO_NAME, __VA_ARGS__) /* one line, exit status 2 */

typedef struct report {
    bool json;
    bool first;
    int problems;
} report_t;

/* What the environment says. */
typedef struct here {
    settings_t settings;
    char foreign[256]; /* VBN_* variables that are no settings */
} here_t;

/* One fact and what to do about it; cure NULL when nothing is to be done. */
typedef enum grade {
    GRADE_OK,
    GRADE_SLOWER,  /* works without, cure makes it faster */
    GRADE_MISSING, /* something will fail */
    GRADE_OFF,     /* a setting says so */
    GRADE_NONE     /* not here, and nothing needs it */
} grade_t;

void tell(report_t *report, const char *name, grade_t grade, const char *cure, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
void json_string(const char *text); /* with its quotes */
void json_next(report_t *report);   /* what separates this element of the array from the one before */

/* ---- transports.c */
void tell_worker(report_t *report, const here_t *here); /* does one open as every program opens it? */
void tell_transport(report_t *report, const here_t *here, const char *name);
void tell_devices(report_t *report, const here_t *here); /* RDMA devices, and the transports over them */
/* A message that nobody handles: its refusal proves that packets went there and back. workers[1] may be NULL. At most
 * 5 s. */
vbn_status_t round_trip(vbn_worker_t *const workers[2], vbn_peer_t *peer);

/* ---- limits.c */
void tell_limits(report_t *report);

/* ---- peer.c. key_file NULL: without authentication */
int listen_for(const char *key_file, unsigned seconds); /* returns the exit status */
void tell_peer(report_t *report, const char *key_file, const char *address);

/* ---- table.c */
void print_settings(report_t *report, const here_t *here);

/* ---- key.c */
int new_key(const char *path); /* returns the exit status */

#endif
