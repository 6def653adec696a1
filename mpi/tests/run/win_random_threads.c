/* SPDX-License-Identifier: Apache-2.0
 * win_random_threads.c - win_random.c with three threads of each rank that make their calls on one window at the same time.
 * ranks: 1 2 3 tcp nodes
 */
#define THREADS 3
#include "win_random.c"
