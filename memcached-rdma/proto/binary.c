/* SPDX-License-Identifier: Apache-2.0
 * binary.c - packets: a table of opcodes, and the heads of answers. */
#include "proto/binary.h"

#include <stddef.h>
#include <string.h>

#define ANSWER_MAGIC 0x81
#define NEVER_CREATE 0xffffffffu /* expiry of an increment that creates no item */

typedef enum opcode {
    OP_GET,
    OP_SET,
    OP_ADD,
    OP_REPLACE,
    OP_DELETE,
    OP_INCREMENT,
    OP_DECREMENT,
    OP_QUIT,
    OP_FLUSH,
    OP_GETQ,
    OP_NOOP,
    OP_VERSION,
    OP_GETK,
    OP_GETKQ,
    OP_APPEND,
    OP_PREPEND,
    OP_STAT,
    OP_SETQ,
    OP_ADDQ,
    OP_REPLACEQ,
    OP_DELETEQ,
    OP_INCREMENTQ,
    OP_DECREMENTQ,
    OP_QUITQ,
    OP_FLUSHQ,
    OP_APPENDQ,
    OP_PREPENDQ,
    OP_TOUCH = 0x1c,
    OP_GAT,
    OP_GATQ,
    OP_GATK = 0x23,
    OP_GATKQ
} opcode_t;

typedef enum part { NONE, MAY, MUST } part_t;

typedef struct command {
    uint8_t plain; /* the opcode that is not quiet */
    uint8_t kind;  /* request_kind_t */
    uint8_t mode;  /* put_mode_t */
    uint8_t extras;
    uint8_t key, value; /* part_t */
    bool knows;         /* the table has the opcode */
} command_t;

#define PUT(opcode, mode, extras) {opcode, REQUEST_PUT, mode, extras, MUST, MAY, true}
#define LOOK(opcode, extras) {opcode, REQUEST_GET, PUT_SET, extras, MUST, NONE, true}
#define OTHER(opcode, kind, extras, key) {opcode, kind, PUT_SET, extras, key, NONE, true}
static const command_t commands[] = {
    [OP_GET] = LOOK(OP_GET, 0),
    [OP_GETQ] = LOOK(OP_GET, 0),
    [OP_GETK] = LOOK(OP_GETK, 0),
    [OP_GETKQ] = LOOK(OP_GETK, 0),
    [OP_TOUCH] = LOOK(OP_TOUCH, 4),
    [OP_GAT] = LOOK(OP_GAT, 4),
    [OP_GATQ] = LOOK(OP_GAT, 4),
    [OP_GATK] = LOOK(OP_GATK, 4),
    [OP_GATKQ] = LOOK(OP_GATK, 4),
    [OP_SET] = PUT(OP_SET, PUT_SET, 8),
    [OP_SETQ] = PUT(OP_SET, PUT_SET, 8),
    [OP_ADD] = PUT(OP_ADD, PUT_ADD, 8),
    [OP_ADDQ] = PUT(OP_ADD, PUT_ADD, 8),
    [OP_REPLACE] = PUT(OP_REPLACE, PUT_REPLACE, 8),
    [OP_REPLACEQ] = PUT(OP_REPLACE, PUT_REPLACE, 8),
    [OP_APPEND] = PUT(OP_APPEND, PUT_APPEND, 0),
    [OP_APPENDQ] = PUT(OP_APPEND, PUT_APPEND, 0),
    [OP_PREPEND] = PUT(OP_PREPEND, PUT_PREPEND, 0),
    [OP_PREPENDQ] = PUT(OP_PREPEND, PUT_PREPEND, 0),
    [OP_DELETE] = OTHER(OP_DELETE, REQUEST_DELETE, 0, MUST),
    [OP_DELETEQ] = OTHER(OP_DELETE, REQUEST_DELETE, 0, MUST),
    [OP_INCREMENT] = OTHER(OP_INCREMENT, REQUEST_META_DELTA, 20, MUST),
    [OP_INCREMENTQ] = OTHER(OP_INCREMENT, REQUEST_META_DELTA, 20, MUST),
    [OP_DECREMENT] = OTHER(OP_DECREMENT, REQUEST_META_DELTA, 20, MUST),
    [OP_DECREMENTQ] = OTHER(OP_DECREMENT, REQUEST_META_DELTA, 20, MUST),
    [OP_QUIT] = OTHER(OP_QUIT, REQUEST_QUIT, 0, NONE),
    [OP_QUITQ] = OTHER(OP_QUIT, REQUEST_QUIT, 0, NONE),
    [OP_FLUSH] = OTHER(OP_FLUSH, REQUEST_FLUSH, 4, NONE),
    [OP_FLUSHQ] = OTHER(OP_FLUSH, REQUEST_FLUSH, 4, NONE),
    [OP_NOOP] = OTHER(OP_NOOP, REQUEST_META_NOOP, 0, NONE),
    [OP_VERSION] = OTHER(OP_VERSION, REQUEST_VERSION, 0, NONE),
    [OP_STAT] = OTHER(OP_STAT, REQUEST_STATS, 0, MAY),
};

typedef struct head {
    uint8_t opcode, extras;
    uint16_t key;
    uint32_t body, opaque;
    uint64_t cas;
} head_t;

/* --------------------------------------------------------------------------------------- numbers */

static uint64_t number_at(const char *at, size_t bytes)
{
    uint64_t number = 0;
    for (size_t i = 0; i < bytes; i++)
        number = number << 8 | (unsigned char)at[i];
    return number;
}

static void put_number(char *at, size_t bytes, uint64_t number)
{
    for (size_t i = bytes; i > 0; i--, number >>= 8)
        at[i - 1] = (char)(number & 0xff);
}

void binary_put_u32(char *at, uint32_t number)
{
    put_number(at, 4, number);
}

void binary_put_u64(char *at, uint64_t number)
{
    put_number(at, 8, number);
}

/* -------------------------------------------------------------------------------------- requests */

static head_t read_head(const char *at)
{
    return (head_t){.opcode = (uint8_t)number_at(at + 1, 1),
                    .key = (uint16_t)number_at(at + 2, 2),
                    .extras = (uint8_t)number_at(at + 4, 1),
                    .body = (uint32_t)number_at(at + 8, 4),
                    .opaque = (uint32_t)number_at(at + 12, 4),
                    .cas = number_at(at + 16, 8)};
}

static const command_t *find_command(uint8_t opcode)
{
    const command_t *command = opcode < sizeof(commands) / sizeof(commands[0]) ? &commands[opcode] : NULL;
    return command != NULL && command->knows ? command : NULL;
}

/* Behind an error that ends the connection nothing is read any more. */
static size_t fail(request_t *request, binary_status_t status, bool ends)
{
    request->kind = REQUEST_ERROR;
    request->packet.status = (uint16_t)status;
    request->packet.ends = ends;
    return BINARY_HEAD;
}

/* This is no packet: the connection ends without an answer. */
static size_t refuse(request_t *request)
{
    request->kind = REQUEST_QUIT;
    request->packet = (packet_t){.speaks = true, .quiet = true};
    return 1;
}

static bool has_its_parts(const command_t *command, const head_t *head)
{
    uint32_t value = head->body - head->extras - head->key;
    bool extras = head->extras == command->extras || (command->kind == REQUEST_FLUSH && head->extras == 0);
    return extras && (command->key != MUST || head->key > 0) && (command->key != NONE || head->key == 0) &&
           (command->value != NONE || value == 0);
}

/* Seconds in Unix time that a signed number cannot express are as late as it can. */
static int32_t exptime_of(uint64_t number)
{
    return number > INT32_MAX ? INT32_MAX : (int32_t)number;
}

static void take_delta(request_t *request, const head_t *head, const char *extras)
{
    meta_t *meta = &request->meta;
    uint64_t expiry = number_at(extras + 16, 4);
    memset(meta, 0, sizeof(*meta));
    meta->delta = (meta_number_t){.value = number_at(extras, 8), .given = true};
    meta->initial = (meta_number_t){.value = number_at(extras + 8, 8), .given = true};
    meta->vivify = (meta_seconds_t){.value = exptime_of(expiry), .given = expiry != NEVER_CREATE};
    meta->compare = (meta_number_t){.value = head->cas, .given = head->cas != 0};
    request->decrement = request->packet.plain == OP_DECREMENT;
}

/* An item is compared with any CAS id that is not 0. */
static void take_put(request_t *request, const head_t *head, const char *extras)
{
    bool joins = request->mode == PUT_APPEND || request->mode == PUT_PREPEND;
    if (head->extras > 0) {
        request->client_flags = (uint32_t)number_at(extras, 4);
        request->exptime = exptime_of(number_at(extras + 4, 4));
    }
    if (head->cas != 0 && !joins)
        request->mode = PUT_CAS;
    request->value_bytes = head->body - head->extras - head->key;
}

static void take_parts(request_t *request, const command_t *command, const head_t *head, const char *extras)
{
    request->kind = (request_kind_t)command->kind;
    request->mode = (put_mode_t)command->mode;
    request->number = head->cas;
    request->key = (text_t){.at = extras + head->extras, .length = head->key};
    if (request->kind == REQUEST_PUT) {
        take_put(request, head, extras);
    } else if (request->kind == REQUEST_META_DELTA) {
        take_delta(request, head, extras);
    } else if (request->kind == REQUEST_STATS) {
        request->rest = request->key;
    } else if (head->extras > 0) {
        request->exptime = exptime_of(number_at(extras, 4));
        request->touch = request->has_exptime = true;
    }
}

size_t binary_parse(const char *bytes, size_t length, request_t *request)
{
    memset(request, 0, offsetof(request_t, meta));
    if (length > 0 && (unsigned char)*bytes != BINARY_MAGIC)
        return refuse(request);
    if (length < BINARY_HEAD)
        return 0;
    const head_t head = read_head(bytes);
    const command_t *command = find_command(head.opcode);
    uint8_t plain = command != NULL ? command->plain : head.opcode;
    request->packet = (packet_t){.speaks = true,
                                 .opcode = head.opcode,
                                 .plain = plain,
                                 .quiet = plain != head.opcode,
                                 .shows_key = plain == OP_GETK || plain == OP_GATK,
                                 .shows_value = plain != OP_TOUCH,
                                 .sets = plain == OP_SET,
                                 .opaque = head.opaque};
    if ((uint32_t)head.key + head.extras > head.body)
        return fail(request, BINARY_UNKNOWN, true);
    if (head.key > KEY_MAX)
        return fail(request, BINARY_INVALID, true);
    if (command == NULL) {
        request->swallow = true;
        request->value_bytes = head.body;
        return fail(request, BINARY_UNKNOWN, false);
    }
    if (!has_its_parts(command, &head))
        return fail(request, BINARY_INVALID, true);
    size_t parsed = BINARY_HEAD + (size_t)head.extras + head.key;
    if (length < parsed)
        return 0;
    take_parts(request, command, &head, bytes + BINARY_HEAD);
    return parsed;
}

/* --------------------------------------------------------------------------------------- answers */

static void add_head(reply_t *reply, const packet_t *packet, binary_status_t status, const binary_answer_t *answer)
{
    char head[BINARY_HEAD] = {(char)ANSWER_MAGIC, (char)packet->opcode};
    put_number(head + 2, 2, answer->key.length);
    put_number(head + 4, 1, answer->extras.length);
    put_number(head + 6, 2, status);
    put_number(head + 8, 4, answer->extras.length + answer->key.length + answer->value_bytes);
    put_number(head + 12, 4, packet->opaque);
    put_number(head + 16, 8, answer->cas);
    reply_bytes(reply, head, sizeof(head));
    reply_bytes(reply, answer->extras.at, answer->extras.length);
    reply_bytes(reply, answer->key.at, answer->key.length);
}

void binary_answer(reply_t *reply, const packet_t *packet, const binary_answer_t *answer)
{
    add_head(reply, packet, BINARY_OK, answer);
}

static const char *text_of(binary_status_t status)
{
    switch (status) {
    case BINARY_NOT_FOUND: return "Not found";
    case BINARY_EXISTS: return "Data exists for key.";
    case BINARY_TOO_LARGE: return "Too large.";
    case BINARY_INVALID: return "Invalid arguments";
    case BINARY_NOT_STORED: return "Not stored.";
    case BINARY_NON_NUMERIC: return "Non-numeric server-side value for incr or decr";
    case BINARY_FORBIDDEN: return "Auth failure.";
    case BINARY_NO_MEMORY: return "Out of memory";
    default: return "Unknown command";
    }
}

void binary_error(reply_t *reply, const packet_t *packet, binary_status_t status)
{
    const char *text = text_of(status);
    binary_answer_t answer = {.value_bytes = strlen(text)};
    add_head(reply, packet, status, &answer);
    reply_string(reply, text);
}

void binary_miss(reply_t *reply, const packet_t *packet, text_t key)
{
    binary_answer_t answer = {.key = key};
    add_head(reply, packet, BINARY_NOT_FOUND, &answer);
}
