/* SPDX-License-Identifier: Apache-2.0
 * shelf.h - the disk of the server (ext_path): the store's shelf, and the thread that writes and empties pages. */
#ifndef MC_SERVER_SHELF_H
#define MC_SERVER_SHELF_H

#include "server/server.h"

/* Opens the files, while the process may and is in its folder. False: a line on stderr says why. */
bool shelf_open(server_t *server);
void shelf_close(server_t *server);
/* As store_open wants it; all zero without ext_path. */
store_shelf_t shelf_of(server_t *server);
/* The thread. False: the log says why. */
bool shelf_start(server_t *server);
void shelf_stop(server_t *server);

#endif
