/* SPDX-License-Identifier: Apache-2.0
 * lease.c - see lease.h. */
#include "mem/lease.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "mem/mem_private.h"

#define SHUT (UINT32_C(1) << 31) /* of vbn_mem.inside; below it the number of threads inside */
#define YIELDS 100u              /* before a wait sleeps: the other side may have a lower priority */
#define NAP_NS 50000

static void wait_a_moment(unsigned turn)
{
    if (turn < YIELDS)
        (void)sched_yield();
    else
        (void)nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
}

/* Acquire and release pair with those of the other threads inside, and with mem_shut. */
static bool enter_unless_shut(vbn_mem_t *mem)
{
    if ((atomic_fetch_add_explicit(&mem->inside, 1, memory_order_acq_rel) & SHUT) == 0)
        return true;
    mem_leave(mem);
    return false;
}

bool mem_enter(vbn_mem_t *mem)
{
    if (!enter_unless_shut(mem))
        return false;
    if (mem->region == NULL || mem_region_unchanged(mem->region))
        return true;
    mem_leave(mem);
    return false;
}

void mem_leave(vbn_mem_t *mem)
{
    (void)atomic_fetch_sub_explicit(&mem->inside, 1, memory_order_release);
}

void mem_reference(vbn_mem_t *mem)
{
    (void)atomic_fetch_add_explicit(&mem->references, 1, memory_order_relaxed);
}

void mem_unreference(vbn_mem_t *mem)
{
    if (atomic_fetch_sub_explicit(&mem->references, 1, memory_order_acq_rel) != 1)
        return;
    pthread_mutex_destroy(&mem->lease_lock);
    free(mem);
}

bool mem_is_shut(const vbn_mem_t *mem)
{
    return (atomic_get_acquire(&mem->inside) & SHUT) != 0;
}

/* Lock of leases held, nobody inside. */
static void set_apart(mem_lease_t *lease)
{
    lease->copy = malloc(lease->piece->iov_len);
    lease->lost = lease->copy == NULL;
    if (lease->copy != NULL)
        memcpy(lease->copy, lease->piece->iov_base, lease->piece->iov_len);
    lease->piece->iov_base = lease->copy;
}

void mem_shut(vbn_mem_t *mem)
{
    uint32_t inside = atomic_fetch_or_explicit(&mem->inside, SHUT, memory_order_acq_rel) & ~SHUT;
    for (unsigned turn = 0; inside != 0; turn++) {
        wait_a_moment(turn);
        inside = atomic_get_acquire(&mem->inside) & ~SHUT; /* pairs with mem_leave */
    }
    pthread_mutex_lock(&mem->lease_lock);
    list_link_t *link;
    while ((link = list_pop(&mem->leases)) != NULL)
        set_apart(container_of(link, mem_lease_t, link));
    mem->apart = true;
    pthread_mutex_unlock(&mem->lease_lock);
}

void mem_lease_open(mem_lease_t *lease, vbn_mem_t *mem, struct iovec *piece)
{
    *lease = (mem_lease_t){.mem = mem, .piece = piece};
    list_init(&lease->link);
    mem_reference(mem);
    pthread_mutex_lock(&mem->lease_lock); /* whoever shuts does not have it: we are inside */
    list_append(&mem->leases, &lease->link);
    pthread_mutex_unlock(&mem->lease_lock);
    mem_leave(mem);
}

void mem_lease_close(mem_lease_t *lease)
{
    vbn_mem_t *mem = lease->mem;
    if (mem == NULL)
        return;
    pthread_mutex_lock(&mem->lease_lock);
    list_remove(&lease->link);
    pthread_mutex_unlock(&mem->lease_lock);
    free(lease->copy);
    lease->mem = NULL;
    mem_unreference(mem);
}

/* For the copies of the one who shuts the memory (Z2). */
static void wait_apart(vbn_mem_t *mem)
{
    bool apart = false;
    for (unsigned turn = 0; !apart; turn++) {
        if (turn > 0)
            wait_a_moment(turn);
        pthread_mutex_lock(&mem->lease_lock);
        apart = mem->apart;
        pthread_mutex_unlock(&mem->lease_lock);
    }
}

mem_lease_state_t mem_lease_enter(mem_lease_t *lease, bool wait)
{
    if (lease == NULL || lease->depth > 0) {
        if (lease != NULL)
            lease->depth++;
        return MEM_LEASE_IN;
    }
    if (!lease->apart && enter_unless_shut(lease->mem)) {
        if (lease->mem->region != NULL && !mem_region_unchanged(lease->mem->region)) {
            mem_leave(lease->mem);
            (void)err_set(VBN_ERR_STALE, "registered memory was unmapped while a get of it was being answered; call "
                                         "vbn_mem_free first");
            return MEM_LEASE_LOST;
        }
    } else if (!lease->apart) {
        if (!wait)
            return MEM_LEASE_WAIT;
        wait_apart(lease->mem);
        lease->apart = true;
    }
    if (lease->apart && lease->lost) {
        (void)err_set(VBN_ERR_NO_MEMORY, "no heap to copy %zu bytes of freed memory for an answer to a peer",
                      lease->piece->iov_len);
        return MEM_LEASE_LOST;
    }
    lease->depth = 1;
    return MEM_LEASE_IN;
}

void mem_lease_leave(mem_lease_t *lease)
{
    if (lease != NULL && --lease->depth == 0 && !lease->apart)
        mem_leave(lease->mem);
}
