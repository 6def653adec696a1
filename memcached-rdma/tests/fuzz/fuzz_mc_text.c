/* SPDX-License-Identifier: Apache-2.0
 * fuzz_mc_text.c - lines of the text and meta protocols. The input is a stream: every line of it is parsed. What a request
 * refers to lies in its line (or is the decoded key), and the same line gives the same request again. */
#include "fuzz.h"
#include "proto/text.h"

static bool inside(text_t text, const char *line, size_t length)
{
    return text.length == 0 || (text.at >= line && text.at + text.length <= line + length);
}

static void check_meta(const request_t *request, const char *line, size_t length)
{
    const meta_t *meta = &request->meta;
    require(meta->count <= META_FLAGS_MAX && inside(meta->shown_key, line, length));
    for (unsigned i = 0; i < meta->count; i++)
        require(inside(meta->flags[i].token, line, length));
}

static void check(const request_t *request, const char *line, size_t length)
{
    bool meta = request->kind >= REQUEST_META_GET && request->kind <= REQUEST_META_DEBUG &&
                request->kind != REQUEST_META_NOOP;
    require(inside(request->command, line, length) && inside(request->rest, line, length));
    require((request->kind == REQUEST_ERROR) == (request->error != NULL));
    require(request->value_bytes <= VALUE_MAX);
    if (meta)
        check_meta(request, line, length);
    if (meta && request->meta.binary)
        require(request->key.at == request->meta.key);
    else if (request->kind != REQUEST_ERROR)
        require(inside(request->key, line, length));
    if (request->kind != REQUEST_ERROR)
        require(request->key.length <= KEY_MAX);
    if (request_has_value(request) || request->kind == REQUEST_DELETE)
        require(request->key.length > 0);
}

static void parse(const char *line, size_t length)
{
    request_t request, again;
    char *copy = malloc(length + 1);
    require(copy != NULL);
    memcpy(copy, line, length);
    size_t shorter = text_line(copy, length);
    require(shorter <= length);
    text_parse(copy, shorter, &request);
    check(&request, copy, shorter);
    text_parse(copy, shorter, &again);
    require(again.kind == request.kind && again.value_bytes == request.value_bytes && again.number == request.number);
    text_t keys = request.rest, word;
    size_t seen = 0;
    while (request.kind == REQUEST_GET && (word = text_word(&keys)).length > 0)
        seen += fuzz_touch(word.at, word.length) > 0;
    require(seen <= length);
    (void)text_is_long_get(copy, length);
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *at = (const char *)data;
    while (size > 0) {
        const char *end = memchr(at, '\n', size);
        size_t length = end == NULL ? size : (size_t)(end - at) + 1;
        parse(at, length);
        at += length;
        size -= length;
    }
    return 0;
}
