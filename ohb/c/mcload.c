/* SPDX-License-Identifier: Apache-2.0
 * mcload.c - one thread that asks a memcached server over sockets, one request in flight on each connection.
 *
 * usage: mcload ADDRESS get|set|beside SIZE CONNECTIONS OPS     ADDRESS: tcp:PORT or tls:PORT (of 127.0.0.1), or unix:PATH
 * beside: CONNECTIONS clients send gets without an end and without waiting for answers, and one more asks as with get and one
 * connection, for values of 1 byte; SIZE is that of the others' values.
 * Prints one line of JSON: ops, seconds, p50_us and p99_us of a request, and ops per second. No certificate is checked. Every
 * answer is compared with what it should be, but for those to the clients beside; a wrong one ends the program with status 1. */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "load.h"

#define KEYS 1000u
#define BUFFER (64u << 10)
#define EVENTS 64
#define SIZE_MOST 32768u
#define PIPELINERS_MOST 64u

typedef struct client {
    int fd;
    SSL *tls; /* NULL: plain */
    double asked;
    unsigned key; /* of the request in flight */
    int sets;
    size_t come, left; /* bytes of the answer that have come, and that have not */
} client_t;

typedef struct load {
    const char *address, *prefix; /* prefix of keys */
    int sets;
    unsigned size, connections;
    unsigned long ops, sent, done;
    double *times; /* of each request that is done, in seconds */
    unsigned key;
    char request[BUFFER], answer[BUFFER], expected[BUFFER];
} load_t;

static int open_socket(const char *address)
{
    struct sockaddr_un local = {.sun_family = AF_UNIX};
    struct sockaddr_in in = {.sin_family = AF_INET};
    int one = 1, status, fd;
    if (strncmp(address, "unix:", 5) == 0) {
        if (strlen(address + 5) >= sizeof(local.sun_path))
            fail("path too long");
        memcpy(local.sun_path, address + 5, strlen(address + 5));
        fd = socket(AF_UNIX, SOCK_STREAM, 0);
        status = connect(fd, (struct sockaddr *)&local, sizeof(local));
    } else {
        in.sin_port = htons((unsigned short)atoi(address + 4));
        in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        fd = socket(AF_INET, SOCK_STREAM, 0);
        status = connect(fd, (struct sockaddr *)&in, sizeof(in));
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    }
    if (fd < 0 || status != 0)
        fail(address);
    return fd;
}

static SSL *begin_tls(int fd)
{
    static SSL_CTX *context;
    if (context == NULL)
        context = SSL_CTX_new(TLS_client_method());
    SSL *tls = context == NULL ? NULL : SSL_new(context);
    if (tls == NULL || SSL_set_fd(tls, fd) != 1 || SSL_connect(tls) != 1)
        fail("TLS");
    return tls;
}

static client_t connect_to(const char *address)
{
    client_t client = {.fd = open_socket(address)};
    if (strncmp(address, "tls:", 4) == 0)
        client.tls = begin_tls(client.fd);
    return client;
}

static void disconnect(client_t *client)
{
    SSL_free(client->tls);
    (void)close(client->fd);
}

/* Writes the value of a key, which differs from those of its neighbours, and an end of line; returns the bytes. */
static size_t put_value(const load_t *load, char *at, unsigned key)
{
    memset(at, 'a' + (int)(key % 26), load->size);
    memcpy(at + load->size, "\r\n", 2);
    return load->size + 2;
}

/* The request for a key; returns its length. */
static size_t make_request(load_t *load, unsigned key, int sets)
{
    char *at = load->request;
    if (!sets)
        return (size_t)sprintf(at, "get %s-%012u\r\n", load->prefix, key);
    size_t length = (size_t)sprintf(at, "set %s-%012u 0 0 %u\r\n", load->prefix, key, load->size);
    return length + put_value(load, at + length, key);
}

/* What the answer must be; returns its length. */
static size_t make_expected(load_t *load, unsigned key, int sets)
{
    char *at = load->expected;
    if (sets)
        return (size_t)sprintf(at, "STORED\r\n");
    size_t length = (size_t)sprintf(at, "VALUE %s-%012u 0 %u\r\n", load->prefix, key, load->size);
    length += put_value(load, at + length, key);
    return length + (size_t)sprintf(at + length, "END\r\n");
}

static void send_all(const client_t *client, const char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t sent = client->tls != NULL ? SSL_write(client->tls, bytes, (int)length)
                                           : send(client->fd, bytes, length, MSG_NOSIGNAL);
        if (sent <= 0)
            fail("send");
        bytes += sent;
        length -= (size_t)sent;
    }
}

static void ask(load_t *load, client_t *client, int sets)
{
    client->key = load->key++ % KEYS;
    client->sets = sets;
    client->come = 0;
    client->left = make_expected(load, client->key, sets);
    size_t length = make_request(load, client->key, sets);
    load->sent++;
    client->asked = now();
    send_all(client, load->request, length);
}

static ssize_t receive(load_t *load, const client_t *client)
{
    return client->tls != NULL ? SSL_read(client->tls, load->answer, BUFFER)
                               : recv(client->fd, load->answer, BUFFER, 0);
}

/* Takes what has come of an answer; 1: it is complete. */
static int take(load_t *load, client_t *client)
{
    ssize_t got = receive(load, client);
    if (got <= 0)
        fail("recv");
    (void)make_expected(load, client->key, client->sets);
    if ((size_t)got > client->left || memcmp(load->answer, load->expected + client->come, (size_t)got) != 0) {
        fprintf(stderr, "mcload: the answer for %s-%012u is wrong from byte %zu on: %.*s\n", load->prefix, client->key,
                client->come, got < 60 ? (int)got : 60, load->answer);
        exit(1);
    }
    client->come += (size_t)got;
    client->left -= (size_t)got;
    return client->left == 0;
}

static void fill(load_t *load)
{
    client_t client = connect_to(load->address);
    for (unsigned i = 0; i < KEYS; i++) {
        ask(load, &client, 1);
        while (!take(load, &client))
            ;
    }
    load->sent = 0;
    disconnect(&client);
}

/* A request is done. */
static void note(load_t *load, const client_t *client)
{
    if (load->done < load->ops)
        load->times[load->done] = now() - client->asked;
    load->done++;
}

static void run_one(load_t *load)
{
    client_t client = connect_to(load->address);
    for (unsigned long i = 0; i < load->ops; i++) {
        ask(load, &client, load->sets);
        while (!take(load, &client))
            ;
        note(load, &client);
    }
    disconnect(&client);
}

static void run_many(load_t *load)
{
    struct epoll_event events[EVENTS];
    client_t *clients = calloc(load->connections, sizeof(*clients));
    int epoll = epoll_create1(0);
    if (clients == NULL || epoll < 0)
        fail("epoll");
    for (unsigned i = 0; i < load->connections; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = &clients[i]};
        clients[i] = connect_to(load->address);
        if (epoll_ctl(epoll, EPOLL_CTL_ADD, clients[i].fd, &event) != 0)
            fail("epoll_ctl");
        ask(load, &clients[i], load->sets);
    }
    while (load->done < load->ops) {
        int ready = epoll_wait(epoll, events, EVENTS, -1);
        for (int i = 0; i < ready; i++) {
            client_t *client = events[i].data.ptr;
            if (!take(load, client))
                continue;
            note(load, client);
            if (load->sent < load->ops + load->connections)
                ask(load, client, load->sets);
        }
    }
    for (unsigned i = 0; i < load->connections; i++)
        disconnect(&clients[i]);
    (void)close(epoll);
    free(clients);
}

/* ------------------------------------------------------------------------------------------- beside */

/* A process that writes gets to a connection, or reads the answers, until it is killed. */
static pid_t pipeline(load_t *load, const client_t *client, int writes)
{
    pid_t child = fork();
    if (child < 0)
        fail("fork");
    if (child > 0)
        return child;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    size_t used = 0;
    for (unsigned i = 0; writes && i < KEYS; i++, used += strlen("get key-000000000000\r\n"))
        (void)sprintf(load->request + used, "get key-%012u\r\n", i);
    for (;;)
        if (writes)
            send_all(client, load->request, used);
        else if (receive(load, client) <= 0)
            _exit(1);
}

/* A client beside others that pipeline. */
static void run_beside(load_t *load)
{
    pid_t children[2 * PIPELINERS_MOST];
    for (unsigned i = 0; i < load->connections; i++) {
        client_t client = connect_to(load->address);
        for (unsigned j = 0; j < 2; j++)
            children[2 * i + j] = pipeline(load, &client, j == 0);
        disconnect(&client);
    }
    load->size = 1;
    load->prefix = "one";
    fill(load);
    run_one(load);
    for (unsigned i = 0; i < 2 * load->connections; i++) {
        (void)kill(children[i], SIGKILL);
        (void)waitpid(children[i], NULL, 0);
    }
}

/* The time within which this share of the requests was done. */
static double within(const load_t *load, double share)
{
    return load->times[(unsigned long)((double)(load->ops - 1) * share)] * 1e6;
}

int main(int argc, char **argv)
{
    static load_t load;
    if (argc != 6) {
        fprintf(stderr, "usage: mcload tcp:PORT|tls:PORT|unix:PATH get|set|beside SIZE CONNECTIONS OPS\n");
        return 2;
    }
    load.address = argv[1];
    load.prefix = "key";
    load.sets = strcmp(argv[2], "set") == 0;
    int beside = strcmp(argv[2], "beside") == 0;
    load.size = (unsigned)atoi(argv[3]);
    load.connections = (unsigned)atoi(argv[4]);
    load.ops = strtoul(argv[5], NULL, 10);
    if (load.size == 0 || load.size > SIZE_MOST || load.connections == 0 || load.ops == 0 ||
        (beside && (load.connections > PIPELINERS_MOST || strncmp(load.address, "tls:", 4) == 0)))
        return 2; /* a connection of TLS is for one process */
    load.times = calloc(load.ops, sizeof(*load.times));
    if (load.times == NULL)
        fail("memory");
    fill(&load);
    double start = now();
    if (beside)
        run_beside(&load);
    else if (load.connections == 1)
        run_one(&load);
    else
        run_many(&load);
    double seconds = now() - start;
    qsort(load.times, load.ops, sizeof(*load.times), by_value);
    printf("{\"ops\": %lu, \"seconds\": %.6f, \"p50_us\": %.3f, \"p99_us\": %.3f, \"rate\": %.1f}\n", load.done,
           seconds, within(&load, 0.5), within(&load, 0.99), (double)load.done / seconds);
    return 0;
}
