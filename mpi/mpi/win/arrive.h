/* SPDX-License-Identifier: Apache-2.0
 * arrive.h - messages of windows that arrive.
 */
#ifndef VERBENA_MPI_WIN_ARRIVE_H
#define VERBENA_MPI_WIN_ARRIVE_H

/* From here on this process handles messages of windows. MPI_SUCCESS or an error. */
int win_messages_open(void);

#endif
