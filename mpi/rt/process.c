/* SPDX-License-Identifier: Apache-2.0
 * process.c - the map of processes and first contact.
 *
 * An address comes from the launcher's key-value space when a rank is named for the first time. Who dials says
 * which rank it is by an active message, which comes before every later message (R3). When both sides dial at once,
 * the core keeps one connection, so a peer stands for one process whoever dialled.
 */
#include "rt/rt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct hello {
    uint32_t rank;
    uint32_t size; /* of the job, as a check */
} hello_t;

static void on_lost(void *arg, vbn_peer_t *peer, vbn_status_t status, const char *text)
{
    (void)arg, (void)status, (void)text; /* operations on the peer say why */
    rt_process_t *process = vbn_peer_user(peer);
    if (process == NULL)
        return;
    process->lost = 1;
    if (process->peer == peer && !process->dialled)
        process->peer = NULL;
}

static void on_hello(void *arg, const vbn_am_message_t *message)
{
    (void)arg;
    const hello_t *hello = message->header;
    if (message->remote != NULL)
        vbn_am_drop(message->remote);
    if (message->header_length != sizeof(*hello) || hello->rank >= (uint32_t)rt.size ||
        hello->size != (uint32_t)rt.size)
        return; /* not of this job: its messages have no rank, no receive takes them */
    rt_process_t *process = rt_process_at((int)hello->rank);
    if (process == NULL)
        return;
    if (process->peer == NULL)
        process->peer = message->peer;
    process->uid = vbn_peer_uid(message->peer);
    vbn_peer_set_user(message->peer, process);
}

/* It was an event: the rank that sleeps looks again. And the end of an rt_ask is its answer. */
static void on_event(void *arg, const vbn_am_message_t *message)
{
    (void)arg;
    if (message->remote != NULL)
        vbn_am_drop(message->remote);
}

int rt_processes_open(void)
{
    const size_t pages = ((size_t)rt.size + RT_PAGE - 1) / RT_PAGE;
    rt.pages = calloc(pages, sizeof(*rt.pages));
    if (rt.pages == NULL)
        return rt_fail("map of %d processes: no memory left", rt.size);
    vbn_worker_set_peer_lost(rt.worker, on_lost, NULL);
    if (vbn_am_handler(rt.worker, RT_AM_HELLO, on_hello, NULL) == VBN_OK &&
        vbn_am_handler(rt.worker, RT_AM_WAKE, on_event, NULL) == VBN_OK &&
        vbn_am_handler(rt.worker, RT_AM_ASK, on_event, NULL) == VBN_OK)
        return 0;
    return rt_fail("%s", vbn_error_text());
}

void rt_processes_leave(void)
{
    for (int rank = 0; rt.pages != NULL && rank < rt.size; rank++) {
        vbn_peer_t *peer = rt_peer_known(rank);
        if (peer != NULL)
            vbn_disconnect(peer, VBN_CLOSE_FLUSH);
    }
}

void rt_processes_close(void)
{
    for (int i = 0; rt.pages != NULL && i * RT_PAGE < rt.size; i++)
        free(rt.pages[i]);
    free(rt.pages);
    rt.pages = NULL;
}

rt_process_t *rt_process_at(int rank)
{
    rt_process_t **page = &rt.pages[rank / RT_PAGE];
    if (*page == NULL) {
        *page = calloc(RT_PAGE, sizeof(**page));
        if (*page == NULL) {
            (void)rt_fail("map of processes: no memory left");
            return NULL;
        }
        for (int i = 0; i < RT_PAGE; i++)
            (*page)[i].rank = rank / RT_PAGE * RT_PAGE + i;
    }
    return &(*page)[rank % RT_PAGE];
}

static int address_of(int rank, void *address, size_t *length_p)
{
    char key[32];
    if (rank == rt.rank) {
        if (vbn_worker_address(rt.worker, address, length_p) != VBN_OK)
            return rt_fail("own address: %s", vbn_error_text());
        return 0;
    }
    rt_key_name(key, sizeof(key), "vbn-a", rank);
    if (pmi_get_bytes(&rt.pmi, key, address, length_p) != 0)
        return rt_fail("address of rank %d: %s", rank, rt.pmi.error);
    return 0;
}

/* Each time that the launcher does not know it yet, some work is done and a millisecond slept. */
static int await(int rank)
{
    rt_process_t *process = rt_process_at(rank);
    rt_wait_t wait = RT_WAIT;
    char key[40];
    char end[40];
    int found = 0;
    wait.look_ms = 1;
    if (process == NULL)
        return -1;
    rt_key_name(key, sizeof(key) - 2, "vbn-a", rank);
    strcat(key, "-0"); /* of its values the last one that is put */
    snprintf(end, sizeof(end), "vbn-ended%d", rank);
    while (!process->open && (found = rt.pmi.ops->has(&rt.pmi, key)) == 0) {
        if (rt.pmi.ops->has(&rt.pmi, end) == 1 && rt.pmi.ops->has(&rt.pmi, key) == 0)
            return rt_fail("rank %d has ended without opening a session or calling MPI_Init", rank);
        rt_wait_step(&wait);
    }
    process->open = found >= 0;
    return found >= 0 ? 0 : rt_fail("address of rank %d: %s", rank, rt.pmi.error);
}

int rt_await(const rt_group_t *ranks)
{
    int rc = 0;
    for (int i = 0; !rt.fenced && i < ranks->size && rc == 0; i++)
        if (rt_group_world(ranks, i) != rt.rank)
            rc = await(rt_group_world(ranks, i));
    return rc;
}

static void free_op(vbn_op_t *op, vbn_status_t status, size_t length)
{
    (void)status, (void)length; /* a loss is the next operation's error, too */
    free(op);
}

/* The op waits for the connection and frees itself. */
static int say_hello(rt_process_t *process)
{
    const hello_t hello = {.rank = (uint32_t)rt.rank, .size = (uint32_t)rt.size};
    vbn_op_t *op = calloc(1, sizeof(*op));
    if (op == NULL)
        return rt_fail("first message to rank %d: no memory left", process->rank);
    op->done = free_op;
    const vbn_status_t status = vbn_am_send(process->peer, RT_AM_HELLO, &hello, sizeof(hello), NULL, 0, 0, op);
    if (status != VBN_INPROGRESS)
        free(op);
    return status >= 0 ? 0 : rt_fail("first message to rank %d: %s", process->rank, vbn_error_text());
}

static int dial(rt_process_t *process)
{
    unsigned char address[VBN_ADDRESS_MAX];
    size_t length = sizeof(address);
    vbn_peer_t *peer;
    if (process->lost)
        return rt_fail("rank %d is lost: its process or its connection has ended", process->rank);
    if (address_of(process->rank, address, &length) != 0)
        return -1;
    if (vbn_connect(rt.worker, address, length, on_lost, NULL, &peer) != VBN_OK)
        return rt_fail("connection to rank %d: %s", process->rank, vbn_error_text());
    process->peer = peer;
    process->dialled = 1;
    process->uid = vbn_peer_uid(peer);
    vbn_peer_set_user(peer, process);
    return process->rank == rt.rank ? 0 : say_hello(process);
}

vbn_peer_t *rt_peer(int rank)
{
    rt_process_t *process = rt_process_at(rank);
    if (process == NULL || (process->peer == NULL && dial(process) != 0))
        return NULL;
    return process->peer;
}

/* Messages that wait for a receive belong to the uid of their sender, which any peer of its address has. */
vbn_peer_t *rt_peer_lost(int rank)
{
    unsigned char address[VBN_ADDRESS_MAX];
    size_t length = sizeof(address);
    rt_process_t *process = rt_process_at(rank);
    if (process == NULL || !process->lost)
        return NULL;
    if (process->peer != NULL)
        return process->peer;
    if (process->late == NULL &&
        (address_of(rank, address, &length) != 0 ||
         vbn_connect_flags(rt.worker, address, length, VBN_CONNECT_ON_USE, NULL, NULL, &process->late) != VBN_OK))
        process->late = NULL;
    return process->late;
}

vbn_peer_t *rt_source(int rank, uint64_t tag, uint64_t mask)
{
    vbn_peer_t *peer = rt_peer(rank);
    if (peer != NULL)
        return peer;
    peer = rt_peer_lost(rank);
    return peer != NULL && vbn_tag_probe(rt.worker, peer, tag, mask, NULL, NULL) == VBN_OK ? peer : NULL;
}

void rt_ask(int rank)
{
    static char nothing;
    const struct iovec byte = {.iov_base = &nothing, .iov_len = 1};
    vbn_peer_t *peer = rt_peer_known(rank);
    vbn_op_t op = {0};
    rt_wait_t wait = RT_WAIT;
    wait.op = &op;
    if (peer == NULL || vbn_am_send(peer, RT_AM_ASK, NULL, 0, &byte, 1, VBN_AM_PULL, &op) != VBN_INPROGRESS)
        return;
    while (op.complete == 0)
        rt_wait_step(&wait);
}

int rt_rank_of(const vbn_peer_t *peer, uint64_t uid)
{
    const rt_process_t *process = peer == NULL ? NULL : vbn_peer_user(peer);
    if (process != NULL)
        return process->rank;
    for (int page = 0; page * RT_PAGE < rt.size; page++)
        for (int i = 0; rt.pages[page] != NULL && i < RT_PAGE; i++)
            if (rt.pages[page][i].uid == uid)
                return rt.pages[page][i].rank;
    return -1;
}
