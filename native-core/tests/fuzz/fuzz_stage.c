/* SPDX-License-Identifier: Apache-2.0
 * fuzz_stage.c - compressed chunks from outside: byte 0 the form, bytes 1 and 2 the announced length less one, then the
 * chunk. Exact heap blocks; what is accepted must be what its own packing gives back. */
#include "balance.h"
#include "proto/stage.h"

static void again(stage_box_t *box, stage_form_t form, const uint8_t *plain, uint32_t bytes)
{
    uint8_t *packed = malloc(bytes);
    uint8_t *back = malloc(bytes);
    require(packed != NULL && back != NULL);
    uint32_t count = stage_pack(box, form, plain, bytes, packed);
    require(count < bytes);
    require(count == 0 || stage_unpack(box, form, packed, count, back, bytes));
    require(count == 0 || memcmp(back, plain, bytes) == 0);
    free(packed);
    free(back);
}

static void run(const uint8_t *data, size_t size)
{
    script_t script = {data, size};
    stage_form_t form = (stage_form_t)(script_u8(&script) % (STAGE_FORMS + 1));
    uint32_t plain = script_u16(&script) + 1u;
    uint32_t bytes = (uint32_t)script.left;
    stage_box_t box = {0};
    uint8_t *chunk = malloc(bytes + 1u);
    uint8_t *out = malloc(plain);
    require(chunk != NULL && out != NULL);
    memcpy(chunk + 1, script.at, bytes);
    if (stage_unpack(&box, form, chunk + 1, bytes, out, plain)) {
        require(plain <= STAGE_CHUNK && bytes < plain && (form == STAGE_FORM_LZ4 || form == STAGE_FORM_ZSTD));
        again(&box, form, out, plain);
    }
    stage_box_free(&box);
    free(chunk);
    free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_balanced(run, data, size, false);
}
