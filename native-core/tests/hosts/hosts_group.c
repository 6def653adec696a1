/* SPDX-License-Identifier: Apache-2.0
 * hosts_group.c - a member of a multicast group that sends until it has heard enough of so many others, and they of their
 * others. Usage: hosts_group ADDRESS OTHERS. Status: 0 it has, 1 not within a minute, or something damaged. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "vbn/vbn.h"

#define ENOUGH 5u
#define SECONDS 60
#define LAST_WORDS 20u
#define FILLER 1000u
#define OTHERS_MAX 16u

typedef struct word {
    uint32_t number;
    uint32_t heard; /* of how many others its sender has heard enough */
    uint8_t filler[FILLER];
} word_t;

typedef struct other {
    uint64_t uid;
    unsigned words;
    int content;
} other_t;

static other_t others[OTHERS_MAX];
static unsigned wanted, heard, content;

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "hosts_group: %s; last error: %s\n", what, vbn_error_text());
    exit(1);
}

static uint8_t filler_of(uint32_t number, size_t i)
{
    return (uint8_t)(number * 31 + i * 7);
}

static other_t *find(uint64_t uid)
{
    unsigned at = 0;
    while (at < OTHERS_MAX && others[at].uid != uid && others[at].uid != 0)
        at++;
    if (at == OTHERS_MAX)
        fail("more members than there can be");
    others[at].uid = uid;
    return &others[at];
}

static void on_word(void *arg, vbn_group_t *group, uint64_t source, const void *data, size_t length)
{
    word_t word;
    (void)arg, (void)group;
    if (length != sizeof(word))
        fail("a datagram of another length");
    memcpy(&word, data, sizeof(word));
    for (size_t i = 0; i < FILLER; i++)
        if (word.filler[i] != filler_of(word.number, i))
            fail("a datagram is damaged");
    other_t *other = find(source);
    heard += ++other->words == ENOUGH;
    content += !other->content && word.heard >= wanted;
    other->content = other->content || word.heard >= wanted;
}

static void say(vbn_group_t *group, uint32_t number)
{
    word_t word = {.number = number, .heard = heard};
    struct iovec iov = {&word, sizeof(word)};
    for (size_t i = 0; i < FILLER; i++)
        word.filler[i] = filler_of(number, i);
    if (vbn_group_send(group, &iov, 1) < 0) /* VBN_BUSY: the next one may go */
        fail("vbn_group_send");
}

/* What comes within 20 ms. */
static void listen_a_while(vbn_worker_t *worker)
{
    struct timespec now;
    struct pollfd fd = {vbn_event_fd(worker), POLLIN, 0};
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    for (time_t end = now.tv_sec * 1000 + now.tv_nsec / 1000000 + 20, at = 0; at < end;) {
        if (vbn_progress(worker) == 0 && vbn_arm(worker) == VBN_OK)
            (void)poll(&fd, 1, 20);
        (void)clock_gettime(CLOCK_MONOTONIC, &now);
        at = now.tv_sec * 1000 + now.tv_nsec / 1000000;
    }
}

int main(int argc, char **argv)
{
    static const uint8_t job_key[VBN_JOB_KEY_BYTES] = {1, 2, 3};
    vbn_config_t *config;
    vbn_context_t *context;
    vbn_worker_t *worker;
    vbn_group_t *group;
    wanted = argc == 3 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;
    if (wanted == 0 || wanted >= OTHERS_MAX) {
        fprintf(stderr, "usage: hosts_group ADDRESS OTHERS\n");
        return 2;
    }
    if (vbn_config_create(&config) < 0 || vbn_config_set_job_key(config, job_key) < 0 ||
        vbn_open(config, &context) < 0 || vbn_worker_create(context, &worker) < 0 ||
        vbn_group_join(worker, argv[1], on_word, NULL, &group) < 0)
        fail("start");
    vbn_config_destroy(config);
    time_t end = time(NULL) + SECONDS;
    unsigned last = 0;
    for (uint32_t number = 0; last < LAST_WORDS && time(NULL) < end; number++) {
        last += heard >= wanted && content >= wanted;
        say(group, number);
        listen_a_while(worker);
    }
    printf("heard %u others, of whom %u have heard all of theirs\n", heard, content);
    vbn_group_leave(group);
    vbn_worker_destroy(worker);
    return heard == wanted && content == wanted && vbn_close(context) == VBN_OK ? 0 : 1;
}
