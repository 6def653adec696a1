/* SPDX-License-Identifier: Apache-2.0
 * grp.c - tags of collectives; the text of a failure.
 */
#include "grp/grp.h"

#include <stdio.h>

#define STEP_BITS 8

static char error_text[2048]; /* R1: one thread at a time */

const char *grp_error(void)
{
    return error_text;
}

uint64_t grp_tag(const grp_t *grp, unsigned step)
{
    return grp->one_tag ? grp->base : grp->base | (grp->number & GRP_NUMBER_MASK) << STEP_BITS | step;
}

uint64_t grp_started_tag(const grp_t *grp, uint32_t number)
{
    return grp->base | GRP_STARTED | (number & GRP_NUMBER_MASK) << STEP_BITS;
}

uint64_t grp_kept_tag(const grp_t *grp, uint32_t number)
{
    return grp->base | GRP_KEPT | (number & GRP_NUMBER_MASK) << STEP_BITS;
}

uint32_t grp_number_of(uint64_t tag)
{
    return (uint32_t)tag >> STEP_BITS & GRP_NUMBER_MASK;
}

int grp_fail(int status, const char *text)
{
    snprintf(error_text, sizeof(error_text), "%s", text);
    return status;
}
