/* SPDX-License-Identifier: Apache-2.0
 * user.h - error classes and codes that the program adds. Functions: under obj_lock.
 */
#ifndef VERBENA_MPI_ERR_USER_H
#define VERBENA_MPI_ERR_USER_H

extern int err_last_used; /* MPI_LASTUSEDCODE */

/* MPI_ERR_UNKNOWN: the program has not added this code. */
int err_user_class(int value);
/* NULL: the program has not added this code; empty: it has added no text. */
const char *err_user_text(int value);

#endif
