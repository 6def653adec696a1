/* SPDX-License-Identifier: Apache-2.0
 * knock.c - hello, connection, one message, its answer. */
#include "knock.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/os.h"
#include "proto/hello.h"
#include "proto/message.h"
#include "vbn/vbn.h"

#define LIMIT_NS UINT64_C(60000000000)

_Static_assert((int)KNOCK_READS == MESSAGE_READS_ALLOWED && (int)KNOCK_OFF == MESSAGE_READS_OFF, "as in message.h");
_Static_assert((int)KNOCK_USER == MESSAGE_READS_USER && (int)KNOCK_HOST == MESSAGE_READS_HOST, "as in message.h");

typedef struct answer {
    int number;
    size_t key_bytes;
} answer_t;

static int say_hello(const visitor_t *how, hello_server_t *hello)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons((uint16_t)how->port)};
    hello_client_t self = {.user = how->says_user, .process = (uint32_t)getpid()};
    char text[HELLO_TEXT_MAX], line[HELLO_TEXT_MAX + 16];
    size_t length = hello_client_encode(&self, text), got = 0;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0 ||
        dprintf(fd, "vbn1 %.*s\r\n", (int)length, text) < 0) {
        perror("hello");
        return -1;
    }
    do {
        ssize_t more = recv(fd, line + got, sizeof(line) - got, 0);
        if (more <= 0)
            break;
        got += (size_t)more;
    } while (line[got - 1] != '\n');
    if (got > 7 && memcmp(line, "vbn1 ", 5) == 0 && hello_server_decode(line + 5, got - 7, hello))
        return fd;
    fprintf(stderr, "hello: %.*s\n", (int)got, line);
    return -1;
}

static vbn_status_t open_core(const visitor_t *how, vbn_context_t **context_p, vbn_worker_t **worker_p)
{
    vbn_config_t *config;
    vbn_status_t status = vbn_config_create(&config);
    if (status != VBN_OK)
        return status;
    status = vbn_config_set(config, "tl.enable", how->transports);
    if (status == VBN_OK)
        status = vbn_config_set(config, "security.same_user", "false");
    if (status == VBN_OK && how->key_file != NULL)
        status = vbn_config_read_job_key(config, how->key_file);
    else if (status == VBN_OK)
        status = vbn_config_set(config, "security.auth", "none");
    if (status == VBN_OK)
        status = vbn_open(config, context_p);
    vbn_config_destroy(config);
    return status != VBN_OK ? status : vbn_worker_create(*context_p, worker_p);
}

static void on_answer(void *arg, const vbn_am_message_t *message)
{
    answer_t *answer = arg;
    message_answer_t decoded;
    if (!message_answer_decode(message->header, message->header_length, &decoded))
        return;
    answer->key_bytes = message->length;
    answer->number = (int)decoded.number;
}

static void ask(const visitor_t *how, const hello_server_t *hello, vbn_worker_t *worker, answer_t *answer)
{
    uint8_t header[MESSAGE_HEAD + MESSAGE_KEY_INLINE];
    message_request_t request = {.op = MESSAGE_NOOP, .number = how->says_user};
    size_t length = message_request_encode(&request, NULL, header);
    vbn_op_t op = {0};
    vbn_peer_t *peer = NULL;
    uint64_t end = os_now_ns() + LIMIT_NS;
    if (vbn_am_handler(worker, MESSAGE_ANSWER, on_answer, answer) != VBN_OK ||
        vbn_connect(worker, hello->address, hello->address_bytes, NULL, NULL, &peer) != VBN_OK ||
        vbn_am_send(peer, MESSAGE_REQUEST, header, length, NULL, 0, 0, &op) < VBN_OK)
        end = 0;
    while (answer->number == KNOCK_FAILED && os_now_ns() < end && (op.complete == 0 || op.status == VBN_OK))
        (void)vbn_progress(worker);
    if (answer->number == KNOCK_FAILED)
        fprintf(stderr, "no answer: %s\n", vbn_error_text());
    if (peer != NULL)
        vbn_disconnect(peer, VBN_CLOSE_NOW);
}

int knock(const visitor_t *how, size_t *key_bytes_p)
{
    hello_server_t hello = {0};
    answer_t answer = {.number = KNOCK_FAILED};
    vbn_context_t *context = NULL;
    vbn_worker_t *worker = NULL;
    int fd = say_hello(how, &hello);
    if (fd < 0)
        return KNOCK_FAILED;
    if (open_core(how, &context, &worker) == VBN_OK)
        ask(how, &hello, worker, &answer);
    else
        fprintf(stderr, "no core: %s\n", vbn_error_text());
    if (worker != NULL)
        vbn_worker_destroy(worker);
    if (context != NULL)
        (void)vbn_close(context);
    (void)close(fd);
    *key_bytes_p = answer.key_bytes;
    return answer.number;
}
