/* SPDX-License-Identifier: Apache-2.0
 * mczipf.c - one thread that uses a memcached server as a cache: gets of keys of a Zipf distribution, and a set after each miss.
 *
 * usage: mczipf PORT SIZE KEYS CONNECTIONS OPS     of 127.0.0.1; all keys are set first
 * Prints one line of JSON: ops, seconds, gets per second, p50_us and p99_us of a get, and the share of hits. Every value is
 * compared with what was set; a wrong one ends the program with status 1. */
#include <arpa/inet.h>
#include <math.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

#include "load.h"

#define EXPONENT 0.99
#define SIZE_MOST 32768u
#define CONNECTIONS_MOST 64u
#define WINDOW 64u /* sets of the filling that are on their way */

typedef struct load {
    int fd[CONNECTIONS_MOST];
    unsigned size, keys, connections;
    uint64_t random;
    double *sums; /* of the weights of all keys up to each one */
    char out[SIZE_MOST + 128], in[SIZE_MOST + 128];
} load_t;

static int connect_to(unsigned port)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int one = 1, fd = socket(AF_INET, SOCK_STREAM, 0);
    in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0 || connect(fd, (struct sockaddr *)&in, sizeof(in)) != 0)
        fail("connect");
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    return fd;
}

static void send_all(int fd, const char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t sent = send(fd, bytes, length, MSG_NOSIGNAL);
        if (sent <= 0)
            fail("send");
        bytes += sent;
        length -= (size_t)sent;
    }
}

static void receive_all(int fd, char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t got = recv(fd, bytes, length, 0);
        if (got <= 0)
            fail("the server has ended the connection");
        bytes += got;
        length -= (size_t)got;
    }
}

/* Which key a rank has: neighbours in popularity are not neighbours in time of their set. */
static unsigned key_of(const load_t *load, unsigned rank)
{
    return (unsigned)((uint64_t)rank * 2654435761u % load->keys);
}

static unsigned draw(load_t *load)
{
    load->random ^= load->random << 13;
    load->random ^= load->random >> 7;
    load->random ^= load->random << 17;
    double at = (double)(load->random >> 11) * 0x1p-53 * load->sums[load->keys - 1];
    unsigned low = 0, high = load->keys - 1;
    while (low < high) {
        unsigned middle = (low + high) / 2;
        if (load->sums[middle] < at)
            low = middle + 1;
        else
            high = middle;
    }
    return key_of(load, low);
}

/* The value of a key with its end of line, behind `length` bytes. */
static size_t put_value(const load_t *load, char *bytes, size_t length, unsigned key)
{
    memset(bytes + length, 'a' + (int)(key % 26), load->size);
    memcpy(bytes + length, &key, sizeof(key));
    memcpy(bytes + length + load->size, "\r\n", 2);
    return length + load->size + 2;
}

static void send_set(load_t *load, int fd, unsigned key)
{
    size_t length = (size_t)sprintf(load->out, "set key-%012u 0 0 %u\r\n", key, load->size);
    send_all(fd, load->out, put_value(load, load->out, length, key));
}

static void receive_stored(load_t *load, int fd)
{
    receive_all(fd, load->in, strlen("STORED\r\n"));
    if (memcmp(load->in, "STORED\r\n", strlen("STORED\r\n")) != 0) {
        fprintf(stderr, "mczipf: a set was not stored\n");
        exit(1);
    }
}

static void fill(load_t *load)
{
    for (unsigned i = 0; i < load->keys + WINDOW; i++) {
        if (i < load->keys)
            send_set(load, load->fd[0], i);
        if (i >= WINDOW)
            receive_stored(load, load->fd[0]);
    }
}

/* Whether the key was found. */
static int receive_get(load_t *load, int fd, unsigned key)
{
    receive_all(fd, load->in, strlen("END\r\n"));
    if (memcmp(load->in, "END\r\n", strlen("END\r\n")) == 0)
        return 0;
    size_t length = (size_t)sprintf(load->out, "VALUE key-%012u 0 %u\r\n", key, load->size);
    length = put_value(load, load->out, length, key);
    length += (size_t)sprintf(load->out + length, "END\r\n");
    receive_all(fd, load->in + strlen("END\r\n"), length - strlen("END\r\n"));
    if (memcmp(load->in, load->out, length) != 0) {
        fprintf(stderr, "mczipf: the answer for key-%012u is wrong\n", key);
        exit(1);
    }
    return 1;
}

/* Reads the answer of each connection as it comes, and notes the time since the round began. missed: keys without a value. */
static void receive_round(load_t *load, const unsigned *key, double begin, double *times, int *missed)
{
    struct pollfd waiting[CONNECTIONS_MOST];
    unsigned left = load->connections;
    for (unsigned i = 0; i < load->connections; i++)
        waiting[i] = (struct pollfd){.fd = load->fd[i], .events = POLLIN};
    while (left > 0) {
        if (poll(waiting, load->connections, -1) < 0)
            fail("poll");
        for (unsigned i = 0; i < load->connections; i++) {
            if (waiting[i].fd < 0 || waiting[i].revents == 0)
                continue;
            missed[i] = !receive_get(load, load->fd[i], key[i]);
            times[i] = now() - begin;
            waiting[i].fd = -1;
            left--;
        }
    }
}

/* A round: a get on each connection, then their answers, then sets of what was missing. Returns the hits. */
static unsigned run_round(load_t *load, double *times)
{
    unsigned key[CONNECTIONS_MOST], hits = 0;
    int missed[CONNECTIONS_MOST];
    double begin = now();
    for (unsigned i = 0; i < load->connections; i++) {
        char line[64];
        key[i] = draw(load);
        send_all(load->fd[i], line, (size_t)sprintf(line, "get key-%012u\r\n", key[i]));
    }
    receive_round(load, key, begin, times, missed);
    for (unsigned i = 0; i < load->connections; i++) {
        hits += !missed[i];
        if (!missed[i])
            continue;
        send_set(load, load->fd[i], key[i]);
        receive_stored(load, load->fd[i]);
    }
    return hits;
}

static unsigned number(const char *text, unsigned least, unsigned most)
{
    unsigned long value = strtoul(text, NULL, 10);
    if (value < least || value > most) {
        fprintf(stderr, "mczipf: %s: give a number from %u to %u\n", text, least, most);
        exit(2);
    }
    return (unsigned)value;
}

int main(int argc, char **argv)
{
    static load_t load = {.random = 88172645463325252u};
    double total = 0;
    unsigned hits = 0, done = 0;
    if (argc != 6) {
        fprintf(stderr, "usage: mczipf PORT SIZE KEYS CONNECTIONS OPS\n");
        return 2;
    }
    load.size = number(argv[2], sizeof(unsigned), SIZE_MOST);
    load.keys = number(argv[3], 1, 100000000);
    load.connections = number(argv[4], 1, CONNECTIONS_MOST);
    unsigned ops = number(argv[5], 1, 1000000000);
    load.sums = malloc(load.keys * sizeof(*load.sums));
    double *times = malloc((ops + load.connections) * sizeof(*times)); /* of each get, in seconds */
    if (load.sums == NULL || times == NULL)
        fail("no memory");
    for (unsigned i = 0; i < load.keys; i++)
        load.sums[i] = total += pow((double)i + 1, -EXPONENT);
    for (unsigned i = 0; i < load.connections; i++)
        load.fd[i] = connect_to(number(argv[1], 1, 65535));
    fill(&load);
    double begin = now();
    for (; done < ops; done += load.connections)
        hits += run_round(&load, times + done);
    double seconds = now() - begin;
    qsort(times, done, sizeof(*times), by_value);
    printf("{\"ops\": %u, \"seconds\": %.6f, \"rate\": %.1f, \"p50_us\": %.3f, \"p99_us\": %.3f, \"hits\": %.6f}\n",
           done, seconds, done / seconds, times[done / 2] * 1e6, times[(size_t)((double)(done - 1) * 0.99)] * 1e6,
           (double)hits / done);
    return 0;
}
