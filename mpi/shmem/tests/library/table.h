/* SPDX-License-Identifier: Apache-2.0
 * table.h - the library of run/library.c.
 */
#ifndef TESTS_LIBRARY_TABLE_H
#define TESTS_LIBRARY_TABLE_H

extern long table_count;
long *table_entries(void); /* 5,000, of this PE */

#endif
