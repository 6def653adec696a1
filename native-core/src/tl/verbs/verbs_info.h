/* SPDX-License-Identifier: Apache-2.0
 * verbs_info.h - what RDMA devices there are, for people (vbn-info). Needs no header of libibverbs. Any thread. */
#ifndef VBN_TL_VERBS_INFO_H
#define VBN_TL_VERBS_INFO_H

#include <stdbool.h>

#include "base/settings.h"
#include "base/status.h"

/* usable: the transports could use this port; text says what it is, or why not and what to do. */
typedef void (*verbs_info_func_t)(void *arg, bool usable, const char *name, const char *text);
/* Tells about every port of every device. VBN_ERR_UNSUPPORTED: there is none, and why. */
vbn_status_t verbs_info_list(verbs_info_func_t func, void *arg);
/* Which port device number `device` of tl.verbs.device is, and its GID, with the reasons. VBN_ERR_INVALID: no such place. */
vbn_status_t verbs_info_choice(const settings_t *settings, unsigned device, char *text, size_t capacity);
/* VBN_OK where connections can be made by rdma_cm, or why not. */
vbn_status_t verbs_info_cm(void);

#endif
