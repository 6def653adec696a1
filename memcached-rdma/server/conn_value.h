/* SPDX-License-Identifier: Apache-2.0
 * conn_value.h - the value that a client sends behind its command line. For the thread of the connection. */
#ifndef MC_SERVER_CONN_VALUE_H
#define MC_SERVER_CONN_VALUE_H

#include "server/conn.h"

exec_t conn_exec(conn_t *conn);
/* After a command: a parked command waits for its values on disk, and runs again. */
void conn_park(conn_t *conn, const exec_t *exec);
/* Where the next bytes of the value go; NULL: nowhere, it is lost. */
char *value_target(const conn_t *conn);
/* The value gives up its memory: it was stored, or is lost. */
void value_drop(conn_t *conn);
/* A value whose command line is `line`: takes its bytes from the buffer, and remembers the line if more bytes have to come. */
void value_begin(conn_t *conn, const request_t *request, const char *line, size_t line_bytes);
/* The value of a request that failed is thrown away. */
void value_swallow(conn_t *conn, const request_t *request);
/* A line of a client that has not logged in: only the data of a login may follow, which is collected as a value is. */
void value_login(conn_t *conn, const char *line, size_t length);
/* Takes bytes of the value and its end, at most as many as a turn may; returns how many. */
size_t value_take(conn_t *conn, const char *bytes, size_t length);
bool value_is_complete(const conn_t *conn);
/* The value is complete: the command again, from the copy of its line, or the login. A command that is parked stays. */
void value_finish(conn_t *conn);

#endif
