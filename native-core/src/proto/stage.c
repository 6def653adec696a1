/* SPDX-License-Identifier: Apache-2.0
 * stage.c - the compressors: LZ4 and Zstandard (level 1), each chunk on its own. */
#include "proto/stage.h"

#include <lz4.h>
#include <zstd.h>

#define ZSTD_LEVEL 1

void stage_box_free(stage_box_t *box)
{
    (void)ZSTD_freeCCtx(box->zstd_out);
    (void)ZSTD_freeDCtx(box->zstd_in);
    *box = (stage_box_t){0};
}

bool stage_valid(unsigned stages)
{
    return (stages & ~(STAGE_CHECKSUM | STAGE_COMPRESS)) == 0 && (stages & STAGE_COMPRESS) != STAGE_COMPRESS;
}

stage_form_t stage_form_of(unsigned stages)
{
    if ((stages & STAGE_LZ4) != 0)
        return STAGE_FORM_LZ4;
    return (stages & STAGE_ZSTD) != 0 ? STAGE_FORM_ZSTD : STAGE_PLAIN;
}

static uint32_t pack_zstd(stage_box_t *box, const void *in, uint32_t n, void *out)
{
    if (box->zstd_out == NULL)
        box->zstd_out = ZSTD_createCCtx();
    if (box->zstd_out == NULL)
        return 0; /* no heap: the chunk goes as it is */
    size_t bytes = ZSTD_compressCCtx(box->zstd_out, out, n - 1, in, n, ZSTD_LEVEL);
    return ZSTD_isError(bytes) ? 0 : (uint32_t)bytes;
}

uint32_t stage_pack(stage_box_t *box, stage_form_t form, const void *in, uint32_t n, void *out)
{
    if (n < 2 || n > STAGE_CHUNK || form == STAGE_PLAIN)
        return 0;
    if (form == STAGE_FORM_ZSTD)
        return pack_zstd(box, in, n, out);
    int bytes = LZ4_compress_default(in, out, (int)n, (int)n - 1);
    return bytes > 0 ? (uint32_t)bytes : 0;
}

static bool unpack_zstd(stage_box_t *box, const void *in, uint32_t n, void *out, uint32_t plain)
{
    if (box->zstd_in == NULL)
        box->zstd_in = ZSTD_createDCtx();
    /* One frame, whole in memory: nothing is allocated for its window. */
    return box->zstd_in != NULL && ZSTD_decompressDCtx(box->zstd_in, out, plain, in, n) == plain;
}

bool stage_unpack(stage_box_t *box, stage_form_t form, const void *in, uint32_t n, void *out, uint32_t plain)
{
    if (n == 0 || n >= plain || plain > STAGE_CHUNK)
        return false;
    if (form == STAGE_FORM_ZSTD)
        return unpack_zstd(box, in, n, out, plain);
    return form == STAGE_FORM_LZ4 && LZ4_decompress_safe(in, out, (int)n, (int)plain) == (int)plain;
}
