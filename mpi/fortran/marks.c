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

typedef struct list {
    const void **at;
    size_t count;
} list_t;

static bool alone;                 // not in the scope of the program
static atomic_ullong changes_seen; // of the list of loaded objects
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static list_t blocks; // of libraries; under the mutex
uintptr_t fortran_marks_low;
uintptr_t fortran_marks_span;

static void add(list_t *list, const void *item)
{
    const void **longer = item == NULL ? NULL : realloc(list->at, (list->count + 1) * sizeof(*longer));
    if (longer == NULL)
        return;
    list->at = longer;
    list->at[list->count++] = item;
}

static int add_name(struct dl_phdr_info *object, size_t size, void *names)
{
    (void)size;
    if (object->dlpi_name[0] != '\0')
        add(names, strdup(object->dlpi_name));
    return 0;
}

/* The loader's lock is not held here: dlopen takes another one. */
static list_t find_blocks(void)
{
    list_t names = {NULL, 0};
    list_t found = {NULL, 0};
    dl_iterate_phdr(add_name, &names);
    for (size_t i = 0; i < names.count; i++) {
        void *library = dlopen(names.at[i], RTLD_LAZY | RTLD_NOLOAD);
        if (library != NULL) {
            add(&found, dlsym(library, "vbnf_marks_"));
            dlclose(library);
        }
        free((void *)(uintptr_t)names.at[i]);
    }
    free(names.at);
    return found;
}

static int count_changes(struct dl_phdr_info *object, size_t size, void *changes)
{
    (void)size;
    *(unsigned long long *)changes = object->dlpi_adds + object->dlpi_subs;
    return 1; /* each object says the same */
}

static void look_for_blocks(void)
{
    unsigned long long changes = 0;
    dl_iterate_phdr(count_changes, &changes);
    if (changes == atomic_load_explicit(&changes_seen, memory_order_acquire)) /* pairs with the store below */
        return;
    const list_t found = find_blocks();
    pthread_mutex_lock(&mutex);
    free(blocks.at);
    blocks = found;
    atomic_store_explicit(&changes_seen, changes, memory_order_release);
    pthread_mutex_unlock(&mutex);
}

static fortran_mark_t mark_of_block(const void *pointer, const void *block)
{
    for (int mark = 0; mark < MARKS; mark++)
        if (pointer == (const char *)block + offsets[mark])
            return (fortran_mark_t)mark;
    return MARK_NONE;
}

static fortran_mark_t mark_of_libraries(const void *pointer)
{
    fortran_mark_t mark = MARK_NONE;
    look_for_blocks();
    pthread_mutex_lock(&mutex);
    for (size_t i = 0; i < blocks.count && mark == MARK_NONE; i++)
        mark = mark_of_block(pointer, blocks.at[i]);
    pthread_mutex_unlock(&mutex);
    return mark;
}

fortran_mark_t fortran_mark_at(const void *pointer)
{
    for (int module = 0; module < MODULES; module++)
        for (int mark = 0; mark < MARKS; mark++)
            if (pointer == modules[module][mark])
                return (fortran_mark_t)mark;
    const fortran_mark_t mark = mark_of_block(pointer, &vbnf_marks_);
    return mark == MARK_NONE && alone ? mark_of_libraries(pointer) : mark;
}

/* All that is known at the start lies between two addresses; what comes later may lie anywhere. */
__attribute__((constructor)) static void know_marks(void)
{
    void *program = dlopen(NULL, RTLD_LAZY);
    alone = program == NULL || dlsym(program, "vbnf_marks_") != &vbnf_marks_;
    if (program != NULL)
        dlclose(program);
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
