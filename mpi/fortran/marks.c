/* SPDX-License-Identifier: Apache-2.0
 * marks.c - the variables of Fortran that stand for addresses of C.
 *
 * The modules have variables that this library alone defines. mpif.h has a common block, of which a program has one as well; the
 * loader binds all of one scope to the same. A library that is loaded by itself (RTLD_LOCAL) has its own: where this library is
 * not in the scope of the program, blocks are looked for whenever the list of loaded objects has changed.
 */
#include "fortran.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#define VISIBLE __attribute__((visibility("default")))
#define EACH(m)                                                                                                        \
    m(bottom, 1) m(in_place, 1) m(buffer_automatic, 1) m(unweighted, 1) m(weights_empty, 1) m(errcodes_ignore, 1)      \
        m(status_ignore, 8) m(statuses_ignore, 8)

#define MEMBER(name, ints) int name[ints];
typedef struct block { // as mpif.h has it
    EACH(MEMBER)
} block_t;
extern block_t vbnf_marks_ VISIBLE;
block_t vbnf_marks_;

#define OF_MODULES(name, ints)                                                                                         \
    extern int vbnf_mpi_##name[ints] VISIBLE;                                                                          \
    extern int vbnf_f08_##name[ints] VISIBLE;                                                                          \
    int vbnf_mpi_##name[ints];                                                                                         \
    int vbnf_f08_##name[ints];
EACH(OF_MODULES)

#define IN_MPI(name, ints) vbnf_mpi_##name,
#define IN_F08(name, ints) vbnf_f08_##name,
#define MODULES 2
static const int *const modules[MODULES][MARKS] = {{EACH(IN_MPI)}, {EACH(IN_F08)}};

/* In the order of a block. */
static const size_t offsets[] = {
#define OFFSET(name, ints) offsetof(block_t, name),
    EACH(OFFSET)};

#define BLOCKS 256
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static const char *blocks[BLOCKS]; // those below `blocks_known` stay
static atomic_int blocks_known;
static bool alone; // not in the scope of the program
static atomic_ullong objects_loaded;
uintptr_t fortran_marks_low;
uintptr_t fortran_marks_span;

static void add_block(const char *block)
{
    const int known = atomic_load_explicit(&blocks_known, memory_order_relaxed);
    for (int i = 0; i < known; i++)
        if (blocks[i] == block)
            return;
    if (block == NULL || known == BLOCKS)
        return;
    blocks[known] = block;
    atomic_store_explicit(&blocks_known, known + 1, memory_order_release); /* pairs with fortran_mark_at */
}

static int look_into(struct dl_phdr_info *object, size_t size, void *unused)
{
    (void)size, (void)unused;
    void *handle = dlopen(object->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
    if (handle != NULL) {
        add_block(dlsym(handle, "vbnf_marks_"));
        dlclose(handle);
    }
    return 0;
}

static int count_loaded(struct dl_phdr_info *object, size_t size, void *loaded)
{
    (void)size;
    *(unsigned long long *)loaded = object->dlpi_adds;
    return 1; // each object says the same
}

static void look_for_blocks(void)
{
    unsigned long long loaded = 0;
    dl_iterate_phdr(count_loaded, &loaded);
    if (loaded == atomic_load_explicit(&objects_loaded, memory_order_acquire)) /* pairs with the store below */
        return;
    pthread_mutex_lock(&mutex);
    dl_iterate_phdr(look_into, NULL);
    atomic_store_explicit(&objects_loaded, loaded, memory_order_release);
    pthread_mutex_unlock(&mutex);
}

fortran_mark_t fortran_mark_at(const void *pointer)
{
    for (int module = 0; module < MODULES; module++)
        for (int mark = 0; mark < MARKS; mark++)
            if (pointer == modules[module][mark])
                return mark;
    if (alone)
        look_for_blocks();
    const int known = atomic_load_explicit(&blocks_known, memory_order_acquire);
    for (int i = 0; i < known; i++)
        for (int mark = 0; mark < MARKS; mark++)
            if (pointer == blocks[i] + offsets[mark])
                return mark;
    return MARK_NONE;
}

/* All that is known at the start lies between two addresses; what comes later may lie anywhere. */
__attribute__((constructor)) static void know_marks(void)
{
    void *program = dlopen(NULL, RTLD_LAZY);
    alone = program == NULL || dlsym(program, "vbnf_marks_") != &vbnf_marks_;
    if (program != NULL)
        dlclose(program);
    add_block((const char *)&vbnf_marks_);
    uintptr_t low = (uintptr_t)&vbnf_marks_;
    uintptr_t high = low + sizeof(vbnf_marks_);
    for (int i = 0; i < MODULES * MARKS; i++) {
        const uintptr_t place = (uintptr_t)modules[i / MARKS][i % MARKS];
        low = place < low ? place : low;
        high = place >= high ? place + 1 : high;
    }
    fortran_marks_low = alone ? 0 : low;
    fortran_marks_span = alone ? UINTPTR_MAX : high - low;
}
