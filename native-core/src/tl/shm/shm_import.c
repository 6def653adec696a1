/* SPDX-License-Identifier: Apache-2.0
 * shm_import.c - fetches the descriptor of a key's memory from its owner and maps it. */
#include "tl/shm/shm_private.h"

#include <stdlib.h>
#include <unistd.h>

vbn_status_t shm_import(tl_ep_t *tl_ep, const mem_key_info_t *info, tl_import_func_t func, void *arg)
{
    shm_ep_t *ep = (shm_ep_t *)tl_ep;
    if (ep->broken || ep->gone)
        return err_set(VBN_ERR_PEER_LOST, "same-host peer is gone");
    mem_import_t *import = mem_import_find(shm_ep_iface(ep)->params.memory, ep->source, info);
    if (import != NULL) {
        func(arg, VBN_OK, import);
        return VBN_OK;
    }
    if (ep->asks_queued_count >= SHM_ASKS_QUEUED_MAX)
        return err_set(VBN_ERR_LIMIT, "%u memories of one peer wait to be mapped; wait for some", SHM_ASKS_QUEUED_MAX);
    shm_ask_t *ask = malloc(sizeof(*ask));
    if (ask == NULL)
        return err_set(VBN_ERR_NO_MEMORY, "no heap for the request to map a peer's memory");
    *ask = (shm_ask_t){.info = *info, .func = func, .arg = arg};
    list_append(&ep->asks_queued, &ask->link);
    ep->asks_queued_count++;
    shm_import_ask_more(ep);
    return VBN_OK;
}

void shm_import_ask_more(shm_ep_t *ep)
{
    while (ep->ready && !ep->broken && !ep->gone && ep->asks_sent_count < SHM_ASKS_MAX &&
           !list_empty(&ep->asks_queued)) {
        shm_ask_t *ask = container_of(list_pop(&ep->asks_queued), shm_ask_t, link);
        ep->asks_queued_count--;
        ask->id = ep->next_ask++;
        list_append(&ep->asks_sent, &ask->link);
        ep->asks_sent_count++;
        shm_note_t note = {.type = SHM_ASK, .id = ask->id, .value = ask->info.key_handle};
        shm_note_send(ep, &note, -1);
    }
}

static void ask_in(shm_ep_t *ep, const shm_note_t *note)
{
    if (!ep->trusted || !ep->ring_sent) {
        shm_ep_fail(ep, VBN_ERR_PROTOCOL, "same-host peer asked for memory before it proved the job key");
        return;
    }
    int fd = -1;
    shm_note_t answer = {.type = SHM_ANSWER, .id = note->id};
    answer.status = mem_key_descriptor(shm_ep_iface(ep)->params.memory, note->value, &fd);
    shm_note_send(ep, &answer, fd);
}

/* What became of an ask; takes over fd. */
static vbn_status_t finish(shm_ep_t *ep, const shm_ask_t *ask, const shm_note_t *note, int fd, bool fd_lost,
                           mem_import_t **import_p)
{
    if (note->status != VBN_OK) {
        if (fd >= 0)
            close(fd);
        return err_set((vbn_status_t)note->status, "the owner refused key 0x%llx: %s",
                       (unsigned long long)ask->info.key_handle, vbn_status_name((vbn_status_t)note->status));
    }
    if (fd < 0 && fd_lost)
        return err_set(VBN_ERR_LIMIT, "no descriptor left to map a peer's memory; raise ulimit -n");
    if (fd < 0)
        return err_set(VBN_ERR_PROTOCOL, "same-host peer answered without a descriptor");
    return mem_import_map(shm_ep_iface(ep)->params.memory, ep->source, &ask->info, fd, import_p);
}

static void answer_in(shm_ep_t *ep, const shm_note_t *note, int fd, bool fd_lost)
{
    shm_ask_t *ask = NULL;
    if (!list_empty(&ep->asks_sent))
        ask = container_of(ep->asks_sent.next, shm_ask_t, link);
    if (ask == NULL || ask->id != note->id || note->status > 0 || note->status <= VBN_STATUS_LAST) {
        if (fd >= 0)
            close(fd);
        shm_ep_fail(ep, VBN_ERR_PROTOCOL, "same-host peer answered a request that was not sent");
        return;
    }
    list_remove(&ask->link);
    ep->asks_sent_count--;
    mem_import_t *import = NULL;
    vbn_status_t status = finish(ep, ask, note, fd, fd_lost, &import);
    shm_ask_t done = *ask;
    free(ask);
    done.func(done.arg, status, import);
    shm_import_ask_more(ep);
}

void shm_import_note(shm_ep_t *ep, const shm_note_t *note, int fd, bool fd_lost)
{
    if (note->type == SHM_ANSWER) {
        answer_in(ep, note, fd, fd_lost);
        return;
    }
    ask_in(ep, note);
    if (fd >= 0)
        close(fd);
}

static shm_ask_t *next_pending(shm_ep_t *ep)
{
    list_link_t *link = list_pop(&ep->asks_sent);
    if (link == NULL)
        link = list_pop(&ep->asks_queued);
    return link == NULL ? NULL : container_of(link, shm_ask_t, link);
}

void shm_import_end(shm_ep_t *ep, vbn_status_t status, bool call)
{
    shm_ask_t *ask;
    while ((ask = next_pending(ep)) != NULL) {
        shm_ask_t done = *ask;
        free(ask);
        if (call)
            done.func(done.arg, status, NULL);
    }
}
