/* SPDX-License-Identifier: Apache-2.0
 * other_name.c - a library that has nothing of its own: its name brings the one that it needs.
 */
/* ISO C wants a declaration in each file. */
typedef int shim_nothing_t;
