/* SPDX-License-Identifier: Apache-2.0
 * library.h - what the world model and all sessions of a process share.
 */
#ifndef VERBENA_MPI_LIBRARY_H
#define VERBENA_MPI_LIBRARY_H

typedef enum library_user { LIBRARY_WORLD, LIBRARY_SESSION } library_user_t;

/* Opens it, or counts one more user; shared: calls of several threads at once are served from here on. Between library_lock and
 * library_unlock, the caller is inside the runtime. */
int library_open(library_user_t user, int shared);
/* The last one ends what is left. */
int library_close(library_user_t user);

/* One thread at a time opens or closes, the world model or a session: also where nothing is open yet that could guard it. */
void library_lock(void);
void library_unlock(void);

/* MPI_THREAD_SINGLE to MPI_THREAD_MULTIPLE: the lowest that is at least the required one. */
int library_level(int required);

#endif
