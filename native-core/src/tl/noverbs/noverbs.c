/* SPDX-License-Identifier: Apache-2.0
 * noverbs.c - the transports rc and ud in a build without libibverbs' headers: names that never open. */
#include "tl/tl.h"

static vbn_status_t absent(const tl_params_t *params, tl_iface_t **iface_p)
{
    (void)params;
    *iface_p = NULL;
    return err_set(VBN_ERR_UNSUPPORTED, "this build of Verbena has no RDMA: build it again with the package "
                                        "libibverbs-dev installed");
}

const tl_ops_t tl_rc_ops = {.name = "rc", .open = absent};
const tl_ops_t tl_ud_ops = {.name = "ud", .open = absent};
