/* SPDX-License-Identifier: Apache-2.0
 * noverbs.c - the transports rc and ud in a build without libibverbs' headers: names that never open. */
#include "tl/tl.h"
#include "tl/verbs/verbs_info.h"

static vbn_status_t missing(void)
{
    return err_set(VBN_ERR_UNSUPPORTED,
                   "this build of Verbena has no RDMA, which takes the packages libibverbs-dev and "
                   "librdmacm-dev when it is built");
}

static vbn_status_t absent(const tl_params_t *params, tl_iface_t **iface_p)
{
    (void)params;
    *iface_p = NULL;
    return missing();
}

vbn_status_t verbs_info_list(verbs_info_func_t func, void *arg)
{
    (void)func;
    (void)arg;
    return missing();
}

vbn_status_t verbs_info_choice(const settings_t *settings, unsigned device, char *text, size_t capacity)
{
    (void)settings;
    (void)device;
    (void)text;
    (void)capacity;
    return missing();
}

vbn_status_t verbs_info_cm(void)
{
    return missing();
}

const tl_ops_t tl_rc_ops = {.name = "rc", .open = absent};
const tl_ops_t tl_ud_ops = {.name = "ud", .open = absent};
