/* SPDX-License-Identifier: Apache-2.0
 * reading.c - reader.h behind plain types. */
#include "reading.h"

#include <stdlib.h>

#include "store/reader.h"

struct reading {
    reader_t reader;
    bool uncounted;
};

reading_t *reading_open(const void *page, size_t bytes, reading_map_t map, void *arg)
{
    reading_t *reading = malloc(sizeof(*reading));
    if (reading == NULL || reader_open(&reading->reader, page, bytes, map, arg))
        return reading;
    reader_close(&reading->reader);
    free(reading);
    return NULL;
}

int reading_get(reading_t *reading, const char *key, size_t length, void *buffer, size_t capacity, size_t *bytes_p,
                uint32_t *flags_p, uint64_t *cas_p)
{
    reader_item_t item = {0};
    reader_status_t status = reader_get(&reading->reader, key, length, buffer, capacity, &item);
    *bytes_p = item.value_bytes;
    *flags_p = item.client_flags;
    *cas_p = item.cas;
    reading->uncounted = item.uncounted;
    return (int)status;
}

bool reading_uncounted(const reading_t *reading)
{
    return reading->uncounted;
}

void reading_close(reading_t *reading)
{
    reader_close(&reading->reader);
    free(reading);
}
