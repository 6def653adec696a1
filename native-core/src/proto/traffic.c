/* SPDX-License-Identifier: Apache-2.0
 * traffic.c - see traffic.h; the parts that only timed operations pass. */
#include "proto/traffic.h"

void traffic_start(proto_engine_t *engine)
{
    proto_timing_t *timing = &engine->timing;
    engine->short_end = engine->short_max + 1;
    timing->in_call = timing->op == NULL;
    if (timing->in_call)
        timing->start_ns = os_now_ns();
}

void traffic_timed(proto_engine_t *engine, traffic_cell_t *cell, vbn_op_t *op, vbn_status_t status)
{
    proto_timing_t *timing = &engine->timing;
    timing->in_call = false;
    timing->cell = cell;
    if (status == VBN_INPROGRESS)
        timing->op = op_of(op);
    else if (status == VBN_OK)
        traffic_time(cell, os_now_ns() - timing->start_ns);
}

void traffic_finish(proto_engine_t *engine, vbn_status_t status)
{
    proto_timing_t *timing = &engine->timing;
    timing->op = NULL;
    if (status == VBN_OK)
        traffic_time(timing->cell, os_now_ns() - timing->start_ns);
}
