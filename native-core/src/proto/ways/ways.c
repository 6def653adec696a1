/* SPDX-License-Identifier: Apache-2.0
 * ways.c - the table of ways to move the data of announced messages. A new way is a file, a row here and a value of way_t. */
#include "proto/ways/way.h"

const proto_way_t PROTO_WAYS[WAYS] = {
    [WAY_PROCESS_COPY] = {.offer = process_copy_offer,
                          .begin = process_copy_begin,
                          .run = process_copy_run,
                          .end = process_copy_end},
    [WAY_DEVICE] = {.offer = device_read_offer, .begin = device_read_begin, .run = device_run, .end = device_end},
    [WAY_MAPPED_WRITE] = {.begin = mapped_write_begin, .run = mapped_write_run, .end = mapped_write_end},
    [WAY_PACKETS] = {.begin = packets_begin},
};
