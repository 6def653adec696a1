/* SPDX-License-Identifier: Apache-2.0
 * fuzz_base64.c - texts in base64. First byte: padded or not, and the capacity. What is accepted fits, and stands for the same
 * bytes when it is encoded and decoded again. */
#include "balance.h"
#include "base/base64.h"

#define MOST 64u

static void run(const uint8_t *data, size_t size)
{
    if (size == 0)
        return;
    bool padded = (data[0] & 1) != 0;
    size_t capacity = data[0] >> 1 < MOST ? data[0] >> 1 : MOST;
    size_t length = SIZE_MAX, again = SIZE_MAX;
    char text[BASE64_PADDED(MOST)];
    uint8_t back[MOST];
    uint8_t *bytes = malloc(capacity + (capacity == 0));
    require(bytes != NULL);
    if (base64_decode((const char *)data + 1, size - 1, padded, bytes, capacity, &length)) {
        require(length <= capacity);
        size_t encoded = base64_encode(bytes, length, padded, text);
        require(encoded == size - 1);
        require(base64_decode(text, encoded, padded, back, sizeof(back), &again));
        require(again == length && memcmp(back, bytes, length) == 0);
    } else {
        require(length == SIZE_MAX);
    }
    free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_balanced(run, data, size, false);
}
