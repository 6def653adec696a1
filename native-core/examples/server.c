/* SPDX-License-Identifier: Apache-2.0
 * server.c - answers requests of any length: gives their text back in capitals. Runs until it is ended.
 *
 *   server KEYFILE    prints its address */
#include <ctype.h>
#include <signal.h>

#include "example.h"

enum { REQUEST = 1, REPLY = 2 };

/* One request, from its arrival until its answer has been taken. */
typedef struct request {
    vbn_op_t op; /* of the pull, then of the answer */
    vbn_peer_t *peer;
    struct iovec text;
    char bytes[];
} request_t;

static volatile uint32_t ended;
static vbn_worker_t *worker;

static void answered(vbn_op_t *op, vbn_status_t status, size_t length)
{
    (void)status, (void)length; /* a client that has gone needs no answer */
    free(op->user);
}

static void answer(request_t *request)
{
    for (size_t i = 0; i < request->text.iov_len; i++)
        request->bytes[i] = (char)toupper((unsigned char)request->bytes[i]);
    request->op = (vbn_op_t){.done = answered, .user = request};
    vbn_status_t status = vbn_am_send(request->peer, REPLY, NULL, 0, &request->text, 1, 0, &request->op);
    if (status != VBN_INPROGRESS) /* complete, or failed: done is not called */
        free(request);
}

static void pulled(vbn_op_t *op, vbn_status_t status, size_t length)
{
    (void)length;
    if (status == VBN_OK)
        answer(op->user);
    else
        free(op->user);
}

/* A small message brings its bytes along, a large one is pulled. */
static void on_request(void *arg, const vbn_am_message_t *message)
{
    (void)arg;
    request_t *request = calloc(1, sizeof(*request) + message->length);
    if (request == NULL && message->remote != NULL)
        vbn_am_drop(message->remote);
    if (request == NULL)
        return;
    request->peer = message->peer;
    request->text = (struct iovec){request->bytes, message->length};
    request->op = (vbn_op_t){.done = pulled, .user = request};
    vbn_status_t status = VBN_OK;
    if (message->remote != NULL)
        status = vbn_am_pull(message->remote, &request->text, 1, &request->op);
    else if (message->length > 0)
        memcpy(request->bytes, message->data, message->length);
    if (status == VBN_OK)
        answer(request);
    else if (status < 0)
        free(request);
}

static void on_signal(int number)
{
    (void)number;
    ended = 1;
    vbn_worker_wake(worker);
}

int main(int argc, char **argv)
{
    vbn_context_t *context;
    if (argc != 2) {
        fprintf(stderr, "usage: server KEYFILE\n");
        return 2;
    }
    worker = open_worker(argv[1], &context);
    (void)signal(SIGTERM, on_signal);
    (void)signal(SIGINT, on_signal);
    check(vbn_am_handler(worker, REQUEST, on_request, NULL), "handler");
    print_address(worker);
    run_until(worker, &ended);
    vbn_worker_destroy(worker); /* what is pending ends with VBN_ERR_CLOSED */
    check(vbn_close(context), "close");
    return 0;
}
