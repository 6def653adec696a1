/* SPDX-License-Identifier: Apache-2.0
 * numbers.h - what another program's table says: lines of numbers, of which the last one counts. */
#ifndef VBN_PERF_NUMBERS_H
#define VBN_PERF_NUMBERS_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define NUMBERS_MOST 8

/* Numbers at the start of a line. */
static inline int numbers_of(const char *line, double *values, int most)
{
    int count = 0;
    char *end;
    for (; count < most; count++, line = end) {
        values[count] = strtod(line, &end);
        if (end == line)
            break;
    }
    return count;
}

/* Reads to the end; the wanted column of the last line that has so many, or -1: there is none, or it is no measurement
 * (ib_send_lat says inf when it could not tell its clock's frequency). columns: at most NUMBERS_MOST. */
static inline double numbers_last(FILE *in, int columns, int wanted)
{
    char line[512];
    double values[NUMBERS_MOST], found = -1;
    while (fgets(line, sizeof(line), in) != NULL)
        if (numbers_of(line, values, columns) == columns)
            found = values[wanted];
    return isfinite(found) && found > 0 ? found : -1;
}

#endif
