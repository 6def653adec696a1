/* SPDX-License-Identifier: Apache-2.0
 * words.c - hashes that take a key in words of four bytes: MurmurHash2, MurmurHash3 and Jenkins' lookup3. */
#include "base/endian.h"
#include "compat/hashkit/hashes.h"

#define SEED 0xdeadbeefu
#define JENKINS_START (SEED + 13u)

static uint32_t rotate(uint32_t value, unsigned bits)
{
    return (value << bits) | (value >> (32 - bits));
}

/* Up to four bytes, the missing ones being 0. */
static uint32_t part(const uint8_t *bytes, size_t length)
{
    uint32_t word = 0;
    for (size_t i = 0; i < length && i < 4; i++)
        word |= (uint32_t)bytes[i] << (8 * i);
    return word;
}

uint32_t hash_murmur(const char *key, size_t length, void *context)
{
    const uint32_t factor = 0x5bd1e995u;
    const uint8_t *at = (const uint8_t *)key;
    uint32_t hash = (SEED * (uint32_t)length) ^ (uint32_t)length;
    (void)context;
    for (; length >= 4; at += 4, length -= 4) {
        uint32_t word = le_get_u32(at) * factor;
        hash = (hash * factor) ^ ((word ^ (word >> 24)) * factor);
    }
    if (length > 0)
        hash = (hash ^ part(at, length)) * factor;
    hash = (hash ^ (hash >> 13)) * factor;
    return hash ^ (hash >> 15);
}

static uint32_t murmur3_word(uint32_t word)
{
    return rotate(word * 0xcc9e2d51u, 15) * 0x1b873593u;
}

uint32_t hash_murmur3(const char *key, size_t length, void *context)
{
    const uint8_t *at = (const uint8_t *)key;
    uint32_t hash = SEED * (uint32_t)length, whole = (uint32_t)length;
    (void)context;
    for (; length >= 4; at += 4, length -= 4)
        hash = rotate(hash ^ murmur3_word(le_get_u32(at)), 13) * 5 + 0xe6546b64u;
    hash ^= murmur3_word(part(at, length));
    hash ^= whole;
    hash = (hash ^ (hash >> 16)) * 0x85ebca6bu;
    hash = (hash ^ (hash >> 13)) * 0xc2b2ae35u;
    return hash ^ (hash >> 16);
}

/* a, b and c of lookup3. One step of a turn: `to` takes off `by` and mixes it in; `sum` gets what follows. */
typedef struct jenkins {
    uint32_t a, b, c;
} jenkins_t;

static void step(uint32_t *to, uint32_t *by, uint32_t *sum, unsigned bits)
{
    *to = (*to - *by) ^ rotate(*by, bits);
    *by += *sum;
}

static void jenkins_mix(jenkins_t *s)
{
    step(&s->a, &s->c, &s->b, 4);
    step(&s->b, &s->a, &s->c, 6);
    step(&s->c, &s->b, &s->a, 8);
    step(&s->a, &s->c, &s->b, 16);
    step(&s->b, &s->a, &s->c, 19);
    step(&s->c, &s->b, &s->a, 4);
}

static void last(uint32_t *to, uint32_t by, unsigned bits)
{
    *to = (*to ^ by) - rotate(by, bits);
}

static uint32_t jenkins_end(jenkins_t *s)
{
    last(&s->c, s->b, 14);
    last(&s->a, s->c, 11);
    last(&s->b, s->a, 25);
    last(&s->c, s->b, 16);
    last(&s->a, s->c, 4);
    last(&s->b, s->a, 14);
    last(&s->c, s->b, 24);
    return s->c;
}

uint32_t hash_jenkins(const char *key, size_t length, void *context)
{
    const uint8_t *at = (const uint8_t *)key;
    uint32_t start = JENKINS_START + (uint32_t)length;
    jenkins_t state = {start, start, start};
    (void)context;
    for (; length > 12; at += 12, length -= 12) {
        state.a += le_get_u32(at);
        state.b += le_get_u32(at + 4);
        state.c += le_get_u32(at + 8);
        jenkins_mix(&state);
    }
    if (length == 0)
        return state.c;
    state.a += part(at, length);
    state.b += length > 4 ? part(at + 4, length - 4) : 0;
    state.c += length > 8 ? part(at + 8, length - 8) : 0;
    return jenkins_end(&state);
}
