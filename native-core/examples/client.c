/* SPDX-License-Identifier: Apache-2.0
 * client.c - sends each of its texts to server.c and prints the answers.
 *
 *   client KEYFILE ADDRESS TEXT... */
#include "example.h"

enum { REQUEST = 1, REPLY = 2 };

typedef struct reply {
    volatile uint32_t here;
    vbn_op_t pull;
    struct iovec text;
} reply_t;

static void take(vbn_op_t *op, vbn_status_t status, size_t length)
{
    reply_t *reply = op->user;
    check(status, "the answer's data");
    printf("%.*s\n", (int)length, (const char *)reply->text.iov_base);
    free(reply->text.iov_base);
    reply->here = 1;
}

/* A small answer brings its bytes along, a large one is pulled. */
static void on_reply(void *arg, const vbn_am_message_t *message)
{
    reply_t *reply = arg;
    reply->pull = (vbn_op_t){.done = take, .user = reply};
    reply->text = (struct iovec){malloc(message->length + 1), message->length};
    if (reply->text.iov_base == NULL) {
        fprintf(stderr, "no memory for an answer\n");
        exit(1);
    }
    vbn_status_t status = VBN_OK;
    if (message->remote != NULL)
        status = vbn_am_pull(message->remote, &reply->text, 1, &reply->pull);
    else if (message->length > 0)
        memcpy(reply->text.iov_base, message->data, message->length);
    check(status, "pull");
    if (status == VBN_OK)
        take(&reply->pull, VBN_OK, message->length);
}

int main(int argc, char **argv)
{
    vbn_context_t *context;
    reply_t reply = {0};
    if (argc < 4) {
        fprintf(stderr, "usage: client KEYFILE ADDRESS TEXT...\n");
        return 2;
    }
    vbn_worker_t *worker = open_worker(argv[1], &context);
    check(vbn_am_handler(worker, REPLY, on_reply, &reply), "handler");
    vbn_peer_t *peer = connect_to(worker, argv[2]);
    for (int i = 3; i < argc; i++) {
        struct iovec text = {argv[i], strlen(argv[i])};
        vbn_op_t op = {0};
        reply.here = 0;
        vbn_status_t status = vbn_am_send(peer, REQUEST, NULL, 0, &text, 1, 0, &op);
        finish(worker, status, &op, "request");
        run_until(worker, &reply.here);
    }
    leave(worker, peer);
    vbn_worker_destroy(worker);
    check(vbn_close(context), "close");
    return 0;
}
