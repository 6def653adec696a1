/* SPDX-License-Identifier: Apache-2.0
 * stage.h - what a message's data passes through on its way, chunk by chunk: compression, and a checksum of the plain
 * bytes.
 *
 *   sender   plain bytes -> [checksum taken] -> [compressed, when that makes them fewer] -> DATA_STAGED
 *   receiver DATA_STAGED -> [unpacked into exactly the announced bytes] -> [checksum compared] -> its place
 *
 * A stage needs no more room than its input: a chunk that does not become smaller goes as it is. Chunks do not depend on
 * each other. A box belongs to one worker. */
#ifndef VBN_PROTO_STAGE_H
#define VBN_PROTO_STAGE_H

#include <stdbool.h>
#include <stdint.h>

/* Sets of stages, as in the announcement and in the answer to it. */
#define STAGE_CHECKSUM 1u
#define STAGE_LZ4 2u
#define STAGE_ZSTD 4u
#define STAGE_COMPRESS (STAGE_LZ4 | STAGE_ZSTD)

#define STAGE_CHUNK 32768u /* most plain bytes of a compressed chunk; part of the wire format */

/* Form of one chunk on the wire. */
typedef enum stage_form { STAGE_PLAIN, STAGE_FORM_LZ4, STAGE_FORM_ZSTD, STAGE_FORMS } stage_form_t;

/* A worker's working memory of the compressors: made on first use, all zero before. */
typedef struct stage_box {
    void *zstd_out;
    void *zstd_in;
} stage_box_t;

void stage_box_free(stage_box_t *box);
/* Known stages only, and at most one that compresses. */
bool stage_valid(unsigned stages);
/* The form that chunks may have with these stages, besides plain; STAGE_PLAIN when none compresses. */
stage_form_t stage_form_of(unsigned stages);
/* Compresses n <= STAGE_CHUNK bytes into out, which has n. Returns its bytes, 0 when they are not fewer. */
uint32_t stage_pack(stage_box_t *box, stage_form_t form, const void *in, uint32_t n, void *out);
/* Unpacks bytes from outside into exactly `plain` <= STAGE_CHUNK bytes at out; false when they are anything else. Never
 * writes beyond, reads beyond, or allocates by what the bytes say. */
bool stage_unpack(stage_box_t *box, stage_form_t form, const void *in, uint32_t n, void *out, uint32_t plain);
/* A first chunk of n bytes that became `packed` (0: not fewer) is not worth the time for the rest. */
static inline bool stage_is_poor(uint32_t n, uint32_t packed)
{
    return packed == 0 || (uint64_t)packed * 10 >= (uint64_t)n * 9;
}

#endif
