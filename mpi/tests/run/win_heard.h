/* SPDX-License-Identifier: Apache-2.0
 * win_heard.h - an error handler of windows that remembers its last call.
 */
#ifndef WIN_HEARD_H
#define WIN_HEARD_H

#include "rule.h"

static int calls;
static int last_code;
static MPI_Win last_win;

static void on_win(MPI_Win *win, int *code, ...)
{
    calls++;
    last_win = *win;
    last_code = *code;
}

#endif
