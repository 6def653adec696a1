/* SPDX-License-Identifier: Apache-2.0
 * key.h - keys of memory that may be mapped here.
 */
#ifndef VERBENA_MPI_WIN_KEY_H
#define VERBENA_MPI_WIN_KEY_H

#include "win/win.h"

/* Imports the key and waits until the core has mapped the memory or will not (vbn_key_pointer tells). MPI_SUCCESS or an error,
 * after which there is no key. */
int win_key_import(vbn_peer_t *peer, const void *blob, size_t length, vbn_key_t **key_p);

#endif
