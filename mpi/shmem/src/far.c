/* SPDX-License-Identifier: Apache-2.0
 * far.c - keys of PEs of other nodes. Who first needs one asks its owner by an active message and waits for the answer; the
 * owner answers inside its progress, also while it computes (the keeper).
 */
#include "shmem/src/far.h"

#include <stdlib.h>

#define AM_ASK 8 /* after those of the runtime */
#define AM_ANSWER 9

enum { KEY_UNKNOWN, KEY_ASKED, KEY_TOLD, KEY_HERE };

/* Of one region or extent of a PE. */
typedef struct far_key {
    int state;
    uint32_t length;
    vbn_key_t *key;
    unsigned char blob[VBN_KEY_MAX];
} far_key_t;

/* place 0: static data; 1 and up: extents of the heap. */
typedef struct shm_far {
    far_key_t keys[1 + SHM_EXTENTS];
} shm_far_t;

typedef struct message {
    uint32_t place;
    uint32_t length; /* of the key, which follows */
    unsigned char key[VBN_KEY_MAX];
} message_t;

/* Where an extent of the heap begins and ends. */
static size_t extent_start(unsigned extent)
{
    return extent == 0 ? 0 : SHM_EXTENT << (extent - 1);
}

static size_t extent_end(unsigned extent)
{
    const size_t end = SHM_EXTENT << extent;
    return end < shm.limit ? end : shm.limit;
}

static unsigned extent_of(size_t offset)
{
    unsigned extent = 0;
    while (offset >= SHM_EXTENT << extent)
        extent++;
    return extent;
}

static void free_op(vbn_op_t *op, vbn_status_t status, size_t length)
{
    (void)status, (void)length; /* a lost peer is the next operation's error, too */
    free(op);
}

static int say(vbn_peer_t *peer, unsigned id, const message_t *message)
{
    vbn_op_t *op = calloc(1, sizeof(*op));
    if (op == NULL)
        return -1;
    op->done = free_op;
    const vbn_status_t status = vbn_am_send(peer, id, message, offsetof(message_t, key) + message->length, NULL, 0, 0,
                                            op);
    if (status != VBN_INPROGRESS)
        free(op);
    return status < 0 ? -1 : 0;
}

/* What cannot be exported has an empty key: who asked says so. */
static void on_ask(void *arg, const vbn_am_message_t *message)
{
    (void)arg;
    message_t answer = {0};
    size_t length = sizeof(answer.key);
    if (message->header_length != offsetof(message_t, key))
        return;
    memcpy(&answer, message->header, message->header_length);
    answer.length = 0;
    if (answer.place > SHM_EXTENTS)
        return;
    const size_t start = answer.place == 0 ? shm.statics_at : shm.heap_at + extent_start(answer.place - 1);
    const size_t end = answer.place == 0 ? shm.statics_at + shm.statics_length
                                         : shm.heap_at + extent_end(answer.place - 1);
    if (shm.inits > 0 && start < end &&
        vbn_key_export(shm.mem, shm.mem_at + start, end - start, VBN_ACCESS_READ | VBN_ACCESS_WRITE, answer.key,
                       &length) == VBN_OK)
        answer.length = (uint32_t)length;
    (void)say(message->peer, AM_ANSWER, &answer);
}

static void on_answer(void *arg, const vbn_am_message_t *message)
{
    (void)arg;
    const message_t *answer = message->header;
    const rt_process_t *process = vbn_peer_user(message->peer);
    if (process == NULL || shm.far == NULL || shm.far[process->rank] == NULL ||
        message->header_length < offsetof(message_t, key) || answer->place > SHM_EXTENTS ||
        message->header_length != offsetof(message_t, key) + answer->length)
        return;
    far_key_t *key = &shm.far[process->rank]->keys[answer->place];
    memcpy(key->blob, answer->key, answer->length);
    key->length = answer->length;
    key->state = KEY_TOLD;
}

int shm_far_open(void)
{
    shm.far = calloc((size_t)shm.pes, sizeof(*shm.far));
    if (shm.far == NULL)
        return rt_fail("table of %d PEs: no memory left", shm.pes);
    if (vbn_am_handler(rt.worker, AM_ASK, on_ask, NULL) != VBN_OK ||
        vbn_am_handler(rt.worker, AM_ANSWER, on_answer, NULL) != VBN_OK)
        return rt_fail("%s", vbn_error_text());
    return 0;
}

void shm_far_close(void)
{
    for (int pe = 0; shm.far != NULL && pe < shm.pes; pe++) {
        for (int place = 0; shm.far[pe] != NULL && place <= SHM_EXTENTS; place++)
            if (shm.far[pe]->keys[place].state == KEY_HERE)
                vbn_key_release(shm.far[pe]->keys[place].key);
        free(shm.far[pe]);
    }
    free(shm.far);
    shm.far = NULL;
    shm_ops_close();
}

static void ask(far_key_t *key, unsigned place, int pe, vbn_peer_t *peer, const char *function)
{
    const message_t question = {.place = place};
    key->state = KEY_ASKED;
    if (say(peer, AM_ASK, &question) != 0)
        shm_fatal(function, "first contact with PE %d: %s", pe, vbn_error_text());
}

static void await(const far_key_t *key, int pe, const char *function)
{
    rt_wait_t wait = RT_WAIT;
    while (key->state == KEY_ASKED) {
        const rt_process_t *process = rt_process_at(pe);
        if (process != NULL && process->lost)
            shm_failed(function, VBN_ERR_PEER_LOST, "first contact: the PE is lost");
        rt_wait_step(&wait);
    }
}

static vbn_key_t *key_of(int pe, unsigned place, const char *function)
{
    if (shm.far[pe] == NULL && (shm.far[pe] = calloc(1, sizeof(shm_far_t))) == NULL)
        shm_fatal(function, "no memory left for keys of PE %d", pe);
    far_key_t *key = &shm.far[pe]->keys[place];
    if (__builtin_expect(key->state == KEY_HERE, 1))
        return key->key;
    vbn_peer_t *peer = rt_peer(pe);
    if (peer == NULL)
        shm_failed(function, rt_process_at(pe)->lost ? VBN_ERR_PEER_LOST : VBN_ERR_UNREACHABLE, rt.error);
    if (key->state == KEY_UNKNOWN)
        ask(key, place, pe, peer, function);
    await(key, pe, function);
    if (key->state == KEY_HERE) /* another thread was faster */
        return key->key;
    if ((peer = rt_peer(pe)) == NULL) /* R5 of rt.h */
        shm_failed(function, VBN_ERR_PEER_LOST, rt.error);
    if (key->length == 0)
        shm_fatal(function, "PE %d does not give access to its memory: it has left OpenSHMEM, or has no memory left",
                  pe);
    if (vbn_key_import(peer, key->blob, key->length, &key->key) != VBN_OK)
        shm_fatal(function, "access to memory of PE %d: %s", pe, vbn_error_text());
    key->state = KEY_HERE;
    return key->key;
}

vbn_key_t *shm_far_key(int pe, const void *address, size_t *offset_p, size_t *covered_p, const char *function)
{
    int region;
    size_t offset;
    (void)shm_locate(address, 1, &region, &offset); /* the caller has looked */
    if (region != SHM_REGION_HEAP) {
        *offset_p = offset;
        *covered_p = shm.statics_length - offset;
        return key_of(pe, 0, function);
    }
    const unsigned extent = extent_of(offset);
    *offset_p = offset - extent_start(extent);
    *covered_p = extent_end(extent) - offset;
    return key_of(pe, extent + 1, function);
}
