/* SPDX-License-Identifier: Apache-2.0
 * put_get.c - one process writes, reads and counts in the memory of another one.
 *
 *   put_get KEYFILE                prints its address and, in a second line, the key of a memory; waits, prints what is there
 *   put_get KEYFILE ADDRESS KEY    writes there, reads it back, adds to a word, and says that it is done */
#include "example.h"

#define BYTES 4096u
#define TEXT "written from afar"

enum { DONE = 1 };                  /* a message: puts to mapped memory wake nobody */
enum { AT_WORD = 0, AT_TEXT = 64 }; /* in the memory */

static volatile uint32_t gone; /* the owner: whoever wrote has left */

static void on_done(void *arg, const vbn_am_message_t *message)
{
    (void)arg, (void)message; /* from here on the end of that peer is told */
}

static void on_gone(void *arg, vbn_peer_t *peer, vbn_status_t status, const char *text)
{
    (void)arg, (void)peer, (void)status, (void)text;
    gone = 1;
}

static void own(vbn_worker_t *worker, vbn_context_t *context)
{
    vbn_mem_t *memory;
    uint8_t key[VBN_KEY_MAX];
    size_t length = sizeof(key);
    check(vbn_am_handler(worker, DONE, on_done, NULL), "handler");
    vbn_worker_set_peer_lost(worker, on_gone, NULL);
    check(vbn_mem_alloc(context, BYTES, VBN_BACKING_MEMFD, NULL, &memory), "memory");
    check(vbn_key_export(memory, 0, BYTES, VBN_ACCESS_READ | VBN_ACCESS_WRITE, key, &length), "key");
    print_address(worker);
    print_hex(key, length);
    run_until(worker, &gone);
    const char *bytes = vbn_mem_address(memory);
    printf("%s, counted %u\n", bytes + AT_TEXT, *(const unsigned *)(const void *)(bytes + AT_WORD));
    check(vbn_mem_free(memory), "free");
}

static void use(vbn_worker_t *worker, const char *address, const char *key_text)
{
    uint8_t blob[VBN_KEY_MAX];
    char back[sizeof(TEXT)] = "";
    struct iovec from = {(char *)TEXT, sizeof(TEXT)}, to = {back, sizeof(back)};
    vbn_op_t op = {0};
    vbn_key_t *key;
    vbn_peer_t *peer = connect_to(worker, address);
    check(vbn_key_import(peer, blob, parse_hex(key_text, blob, sizeof(blob)), &key), "key");
    finish(worker, vbn_put(key, AT_TEXT, &from, 1, &op), &op, "put"); /* complete: the owner can see it */
    finish(worker, vbn_get(key, AT_TEXT, &to, 1, &op), &op, "get");
    finish(worker, vbn_atomic(key, AT_WORD, VBN_ATOMIC_ADD, 8, 1, 0, NULL, &op), &op, "atomic");
    printf("read back: %s\n", back);
    finish(worker, vbn_am_send(peer, DONE, NULL, 0, NULL, 0, 0, &op), &op, "message");
    vbn_key_release(key);
    leave(worker, peer);
}

int main(int argc, char **argv)
{
    vbn_context_t *context;
    if (argc != 2 && argc != 4) {
        fprintf(stderr, "usage: put_get KEYFILE [ADDRESS KEY]\n");
        return 2;
    }
    vbn_worker_t *worker = open_worker(argv[1], &context);
    if (argc == 2)
        own(worker, context);
    else
        use(worker, argv[2], argv[3]);
    vbn_worker_destroy(worker);
    check(vbn_close(context), "close");
    return 0;
}
