/* SPDX-License-Identifier: Apache-2.0
 * info.h - what the parts of vbn-info share. */
#ifndef VBN_INFO_H
#define VBN_INFO_H

#include <stdbool.h>

#include "vbn/vbn.h"

typedef struct report {
    bool json;
    bool first;
    int problems;
} report_t;

/* One fact and what to do about it; cure NULL when nothing is to be done. */
typedef enum grade {
    GRADE_OK,
    GRADE_SLOWER, /* works without, cure makes it faster */
    GRADE_MISSING /* something will fail */
} grade_t;

void tell(report_t *report, const char *name, grade_t grade, const char *cure, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* ---- transports.c */
void tell_transport(report_t *report, const char *name);
void tell_devices(report_t *report); /* RDMA devices, and the transports over them */
/* A message that nobody handles: its refusal proves that packets went there and back. workers[1] may be NULL. At most
 * 5 s. */
vbn_status_t round_trip(vbn_worker_t *const workers[2], vbn_peer_t *peer);

/* ---- limits.c */
void tell_limits(report_t *report);

/* ---- peer.c: return the exit status. key_file: 64 hexadecimal digits; NULL: without authentication */
int listen_for(const char *key_file, unsigned seconds);
int tell_peer(report_t *report, const char *key_file, const char *address);

#endif
