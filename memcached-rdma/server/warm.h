/* SPDX-License-Identifier: Apache-2.0
 * warm.h - warm restart: the items go to the file of -e when the server ends gracefully, and come from there at its start. */
#ifndef MC_SERVER_WARM_H
#define MC_SERVER_WARM_H

#include "server/server.h"

/* Finds the whole path of the file, before the process leaves its folder. False: a line on stderr says why. */
bool warm_open(server_t *server);
/* Before the first client is served: takes the items of the file, if there is a right one, and removes it. */
void warm_load(server_t *server);
/* When no client is served any more. */
void warm_save(server_t *server);

#endif
