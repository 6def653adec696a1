/* SPDX-License-Identifier: Apache-2.0
 * target.c - what a rank knows of the others in a window. A description is asked for at the first access (W2).
 */
#include <stdlib.h>
#include <string.h>

#include "err/err.h"
#include "rt/node.h"
#include "win/ask.h"
#include "win/key.h"
#include "win/shared.h"

int win_check_rank(const mpi_win_t *win, int rank)
{
    const int size = win->comm->ranks->size;
    return rank >= 0 && rank < size
               ? MPI_SUCCESS
               : err_set(MPI_ERR_RANK, "rank is %d, but the ranks of the window are 0 to %d", rank, size - 1);
}

int win_shares_node(const mpi_win_t *win, int rank)
{
    return win->node_at > 0 && rt_node_index(rt_group_world(win->comm->ranks, rank)) >= 0;
}

win_target_t *win_target(mpi_win_t *win, int rank)
{
    const size_t pages = ((size_t)win->comm->ranks->size + WIN_PAGE - 1) / WIN_PAGE;
    if (win->pages == NULL)
        win->pages = calloc(pages, sizeof(win_target_t *));
    if (win->pages != NULL && win->pages[rank / WIN_PAGE] == NULL)
        win->pages[rank / WIN_PAGE] = calloc(WIN_PAGE, sizeof(win_target_t));
    win_target_t *target = win_target_known(win, rank);
    if (target == NULL)
        (void)err_set(MPI_ERR_NO_MEM, "targets of a window: no memory left");
    return target;
}

void win_targets_free(mpi_win_t *win)
{
    const int size = win->comm == NULL ? 0 : win->comm->ranks->size;
    for (int rank = 0; rank < size; rank++) {
        const win_target_t *target = win_target_known(win, rank);
        if (target != NULL && target->key != NULL)
            vbn_key_release(target->key);
    }
    for (int rank = 0; win->pages != NULL && rank < size; rank += WIN_PAGE)
        free(win->pages[rank / WIN_PAGE]);
    free(win->pages);
    win->pages = NULL;
}

/* Memory of a rank of this node, in the memory that both have mapped. */
static int map(const win_description_t *description, unsigned char **near_p)
{
    if (rt_node_open() <= 0)
        return err_set(MPI_ERR_OTHER, "memory of a window: %s", rt.error);
    if (description->node_at >= rt_node_bytes() || description->gate_at > rt_node_bytes() - sizeof(win_gate_t) ||
        description->size > rt_node_bytes() - description->node_at ||
        (description->word_at != 0 && description->word_at >= rt_node_bytes() - description->node_at))
        return err_set(MPI_ERR_INTERN, "memory of a window lies outside of node memory");
    *near_p = description->size > 0 ? rt_node_at(description->node_at) : NULL;
    return MPI_SUCCESS;
}

static int import(const mpi_win_t *win, int rank, const win_description_t *description, vbn_key_t **key_p)
{
    vbn_peer_t *peer = rt_peer(rt_group_world(win->comm->ranks, rank)); /* R5 of rt.h */
    return peer == NULL ? err_set(MPI_ERR_PROC_ABORTED, "memory of rank %d: %s", rank, rt.error)
                        : win_key_import(peer, description->key, description->key_length, key_p);
}

static int take_over(const mpi_win_t *win, int rank, win_target_t *target, const win_description_t *description)
{
    vbn_key_t *key = NULL;
    unsigned char *near = NULL;
    int rc = MPI_SUCCESS;
    if (description->node_at > 0)
        rc = map(description, &near);
    else if (description->key_length > 0)
        rc = import(win, rank, description, &key);
    if (rc != MPI_SUCCESS)
        return rc;
    if (target->known) { /* another thread was faster */
        if (key != NULL)
            vbn_key_release(key);
        return MPI_SUCCESS;
    }
    target->key = key;
    target->near = key == NULL ? near : vbn_key_pointer(key);
    if (target->near != NULL && description->word_at > 0)
        target->word = (_Atomic uint32_t *)(void *)(target->near + description->word_at);
    if (description->node_at > 0)
        target->gate = (win_gate_t *)(void *)rt_node_at(description->gate_at);
    target->size = description->size;
    target->unit = description->unit;
    target->read_only = description->read_only != 0;
    target->known = 1;
    return MPI_SUCCESS;
}

static int ask(mpi_win_t *win, int rank, win_target_t *target)
{
    win_description_t description;
    win_question_t question = {.into = &description, .room = sizeof(description)};
    win_header_t header = {.kind = WIN_ASK};
    const size_t fixed = offsetof(win_description_t, key);
    const int rc = win_ask(win, rank, &header, &question, "first access");
    if (rc != MPI_SUCCESS || target->known)
        return rc;
    if (question.rc == MPI_SUCCESS && (question.length < fixed || description.key_length != question.length - fixed))
        question.rc = MPI_ERR_INTERN;
    return question.rc == MPI_SUCCESS ? take_over(win, rank, target, &description)
                                      : err_set(question.rc, "rank %d of the window did not describe its memory", rank);
}

int win_describe(mpi_win_t *win, int rank, win_target_t **target_p)
{
    win_target_t *target = win_target(win, rank);
    *target_p = target;
    if (target == NULL)
        return MPI_ERR_NO_MEM;
    if (target->known)
        return MPI_SUCCESS;
    if (win->shared != NULL) {
        win_shared_describe(win, rank, target);
        return MPI_SUCCESS;
    }
    if (rank == win->comm->ranks->rank && win->flavour != MPI_WIN_FLAVOR_DYNAMIC) {
        target->size = (size_t)win->size;
        target->unit = (size_t)win->unit;
        target->read_only = win->read_only;
        target->near = win->base;
        target->word = win->word;
        target->gate = win->gate;
        target->known = 1;
        return MPI_SUCCESS;
    }
    if (win->flavour ==
        MPI_WIN_FLAVOR_DYNAMIC) { /* addresses of the target, of which it knows itself which are attached */
        target->size = SIZE_MAX;
        target->unit = 1;
        target->known = 1;
        return MPI_SUCCESS;
    }
    return ask(win, rank, target);
}
