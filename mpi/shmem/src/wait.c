/* SPDX-License-Identifier: Apache-2.0
 * wait.c - waits for variables of this PE, and who wakes it.
 *
 * A wait looks, polls for a while, then drives the runtime's progress, which may sleep. Before it sleeps it says so in this
 * PE's page and looks again; who has written here looks at that page after atomics and signals, of puts at the next fence or
 * quiet, and sends an empty message to a sleeper. A sleeper looks every millisecond by itself, too: at plain stores nobody
 * wakes it for.
 */
#include "shmem/src/wait.h"

#include "shmem/src/translate.h"

#define POLLS 2000u      /* looks before the runtime is entered */
#define POLLS_SHARED 20u /* of a PE that shares its processor */
#define LOOK_MS 1

static inline void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static int compare_signed(int64_t now, int compare, int64_t value)
{
    switch (compare) {
    case SHMEM_CMP_EQ: return now == value;
    case SHMEM_CMP_NE: return now != value;
    case SHMEM_CMP_GT: return now > value;
    case SHMEM_CMP_GE: return now >= value;
    case SHMEM_CMP_LT: return now < value;
    default: return now <= value;
    }
}

static int compare_unsigned(uint64_t now, int compare, uint64_t value)
{
    switch (compare) {
    case SHMEM_CMP_EQ: return now == value;
    case SHMEM_CMP_NE: return now != value;
    case SHMEM_CMP_GT: return now > value;
    case SHMEM_CMP_GE: return now >= value;
    case SHMEM_CMP_LT: return now < value;
    default: return now <= value;
    }
}

/* acquire: what was written before the variable is seen once its new value is. */
static uint64_t load(const void *at, unsigned width)
{
    switch (width) {
    case 2: return __atomic_load_n((const uint16_t *)at, __ATOMIC_ACQUIRE);
    case 4: return __atomic_load_n((const uint32_t *)at, __ATOMIC_ACQUIRE);
    default: return __atomic_load_n((const uint64_t *)at, __ATOMIC_ACQUIRE);
    }
}

static int64_t widen(uint64_t bits, unsigned width)
{
    return width == 2 ? (int16_t)bits : width == 4 ? (int32_t)bits : (int64_t)bits;
}

static int is_met(const shm_waited_t *waited, size_t i)
{
    const unsigned width = waited->kind & 0xff;
    const uint64_t now = load((const unsigned char *)waited->variables + i * width, width);
    uint64_t value = 0;
    memcpy(&value, (const unsigned char *)waited->values + i * waited->step, width);
    if ((waited->kind & SHM_SIGNED) != 0)
        return compare_signed(widen(now, width), waited->compare, widen(value, width));
    return compare_unsigned(now, waited->compare, value);
}

static int is_left_out(const shm_waited_t *waited, size_t i)
{
    return waited->status != NULL && waited->status[i] != 0;
}

static int all_met(const shm_waited_t *waited, size_t *from_p)
{
    for (; *from_p < waited->count; ++*from_p)
        if (!is_left_out(waited, *from_p) && !is_met(waited, *from_p))
            return 0;
    return 1;
}

/* One that is met, looking from another place each time; SIZE_MAX: none. */
static size_t any_met(const shm_waited_t *waited, size_t *next_p)
{
    for (size_t n = 0; n < waited->count; n++) {
        const size_t i = (*next_p + n) % waited->count;
        if (is_left_out(waited, i) || !is_met(waited, i))
            continue;
        *next_p = i + 1;
        return i;
    }
    return SIZE_MAX;
}

static int none_left(const shm_waited_t *waited)
{
    for (size_t i = 0; i < waited->count; i++)
        if (!is_left_out(waited, i))
            return 0;
    return 1;
}

static void check(const shm_waited_t *waited, const char *function)
{
    shm_check_ready(function);
    if (waited->compare < SHMEM_CMP_EQ || waited->compare > SHMEM_CMP_LE)
        shm_fatal(function, "argument cmp is %d, which is none of SHMEM_CMP_*", waited->compare);
    if (waited->count > 0 && ((uintptr_t)waited->variables & ((waited->kind & 0xff) - 1)) != 0)
        shm_fatal(function, "address %p of a variable of %u bytes is not a multiple of %u", waited->variables,
                  waited->kind & 0xff, waited->kind & 0xff);
}

/* ---- sleeping */

typedef int (*condition_t)(const shm_waited_t *waited, size_t *state);

static int is_any(const shm_waited_t *waited, size_t *state)
{
    size_t next = *state;
    const size_t found = any_met(waited, &next);
    if (found == SIZE_MAX)
        return 0;
    *state = found;
    return 1;
}

static void drive(const shm_waited_t *waited, condition_t is_over, size_t *state)
{
    shm_page_t *page = shm_page_of(shm.index);
    rt_wait_t wait = RT_WAIT;
    wait.look_ms = LOOK_MS;
    rt_enter();
    while (!is_over(waited, state)) {
        const int sleeps = wait.armed || rt_gate.shared;
        if (sleeps) {
            atomic_fetch_add_explicit(&page->asleep, 1, memory_order_relaxed);
            rt_node_sleeper_fence(); /* pairs with shm_wake_touched and the updates of shm_look_for_sleeper */
        }
        if (!sleeps || !is_over(waited, state))
            rt_wait_step(&wait);
        if (sleeps)
            atomic_fetch_sub_explicit(&page->asleep, 1, memory_order_relaxed);
        for (unsigned i = 0; i < POLLS_SHARED && !rt.oversubscribed && !is_over(waited, state); i++)
            relax();
    }
    rt_leave();
}

static void wait_for(const shm_waited_t *waited, condition_t is_over, size_t *state)
{
    const unsigned polls = rt.oversubscribed ? POLLS_SHARED : POLLS;
    for (unsigned i = 0; i < polls; i++) {
        if (is_over(waited, state))
            return;
        relax();
    }
    shm_wake_touched(); /* what this PE has put may be what the other side waits for */
    drive(waited, is_over, state);
}

void shm_look(void)
{
    static _Thread_local unsigned calls;
    if (++calls % 16 != 0 && !rt.oversubscribed)
        return;
    shm_wake_touched();
    rt_enter();
    rt_look();
    rt_leave();
}

/* Who wakes in a loop serves the others, too: the keeper does not while the runtime is entered all the time. */
void shm_wake_index(unsigned index)
{
    rt_enter();
    rt_node_wake(shm_pe_at(index));
    (void)rt_progress();
    rt_leave();
}

void shm_wake_touched(void)
{
    const uint64_t touched = atomic_exchange_explicit(&shm.touched, 0, memory_order_relaxed);
    if (touched == 0 || shm.on_node < 2)
        return;
    if (rt_node.fenced)
        atomic_thread_fence(memory_order_seq_cst);
    else
        atomic_signal_fence(memory_order_seq_cst); /* compiler only: the sleeper's membarrier does the rest */
    for (unsigned index = 0; index < (unsigned)shm.on_node; index++)
        if ((touched >> (index & 63) & 1) != 0 && index != shm.index &&
            atomic_load_explicit(&shm_page_of(index)->asleep, memory_order_relaxed) != 0)
            shm_wake_index(index);
}

/* ---- the calls */

void shm_wait(const shm_waited_t *waited, const char *function)
{
    size_t from = 0;
    check(waited, function);
    wait_for(waited, all_met, &from);
}

void shm_wait_all(const shm_waited_t *waited, const char *function)
{
    size_t from = 0;
    check(waited, function);
    wait_for(waited, all_met, &from);
}

size_t shm_wait_any(const shm_waited_t *waited, const char *function)
{
    static _Thread_local size_t turn; /* so that no variable is always the first one */
    check(waited, function);
    if (none_left(waited))
        return SIZE_MAX;
    size_t state = turn++ % waited->count;
    wait_for(waited, is_any, &state);
    return state;
}

static size_t gather(const shm_waited_t *waited, size_t *indices)
{
    size_t found = 0;
    for (size_t i = 0; i < waited->count; i++)
        if (!is_left_out(waited, i) && is_met(waited, i))
            indices[found++] = i;
    return found;
}

size_t shm_wait_some(const shm_waited_t *waited, size_t *indices, const char *function)
{
    size_t found;
    check(waited, function);
    if (none_left(waited))
        return 0;
    while ((found = gather(waited, indices)) == 0) { /* another thread may change a variable in between */
        size_t state = 0;
        wait_for(waited, is_any, &state);
    }
    return found;
}

int shm_test(const shm_waited_t *waited, const char *function)
{
    return shm_test_all(waited, function);
}

int shm_test_all(const shm_waited_t *waited, const char *function)
{
    size_t from = 0;
    check(waited, function);
    if (all_met(waited, &from))
        return 1;
    shm_look();
    from = 0;
    return all_met(waited, &from);
}

size_t shm_test_any(const shm_waited_t *waited, const char *function)
{
    static _Thread_local size_t turn;
    check(waited, function);
    if (none_left(waited))
        return SIZE_MAX;
    size_t next = turn++ % waited->count;
    const size_t found = any_met(waited, &next);
    if (found != SIZE_MAX)
        return found;
    shm_look();
    return any_met(waited, &next);
}

size_t shm_test_some(const shm_waited_t *waited, size_t *indices, const char *function)
{
    check(waited, function);
    const size_t found = gather(waited, indices);
    if (found > 0)
        return found;
    shm_look();
    return gather(waited, indices);
}

uint64_t shm_signal_fetch(const uint64_t *signal, const char *function)
{
    shm_check_ready(function);
    return load(signal, sizeof(*signal));
}

uint64_t shm_signal_wait(uint64_t *signal, int compare, uint64_t value, const char *function)
{
    uint64_t now;
    do /* the value that is returned is one that has met the condition */
        shm_wait(SHM_ONE(signal, sizeof(*signal), compare, &value), function);
    while (!compare_unsigned(now = load(signal, sizeof(*signal)), compare, value));
    return now;
}
