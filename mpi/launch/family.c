/* SPDX-License-Identifier: Apache-2.0
 * family.c - programs of other MPI libraries: which one a program needs, and the environment in which the loader finds ours.
 *
 * Each library of another ABI has a folder beside libmpi_abi.so.1, which comes first in LD_LIBRARY_PATH: so also modules find it
 * that a program loads later. DT_RPATH of a program is stronger than that; then LD_PRELOAD names all libraries of its family, for
 * libraries that the program needs may need others of them.
 */
#include "launch/launch.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct {
    const char *folder; /* below lib/ */
    const char *library;
} families[] = {{"ompi", "libmpi.so.40"},           {"ompi", "libmpi_mpifh.so.40"},
                {"ompi", "libmpi_usempif08.so.40"}, {"ompi", "libmpi_usempi_ignore_tkr.so.40"},
                {"mpich", "libmpi.so.12"},          {"mpich", "libmpich.so.12"},
                {"mpich", "libmpifort.so.12"},      {"mpich", "libmpichfort.so.12"}};
#define FAMILIES (sizeof(families) / sizeof(families[0]))

/* A file as it lies in memory; nothing of it is read outside of `size`. */
typedef struct image {
    const uint8_t *bytes;
    size_t size;
} image_t;

static int open_image(const char *path, image_t *image)
{
    struct stat status;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    void *bytes = MAP_FAILED;
    if (fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size >= (off_t)sizeof(Elf64_Ehdr))
        bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (fd >= 0)
        close(fd);
    if (bytes == MAP_FAILED)
        return -1;
    *image = (image_t){.bytes = bytes, .size = (size_t)status.st_size};
    return 0;
}

/* NULL: not all of it is in the file. */
static const void *part(const image_t *image, uint64_t offset, uint64_t length)
{
    return offset <= image->size && length <= image->size - offset ? image->bytes + offset : NULL;
}

static int segment(const image_t *image, const Elf64_Ehdr *head, unsigned at, Elf64_Phdr *found)
{
    const void *row = part(image, head->e_phoff + (uint64_t)at * sizeof(*found), sizeof(*found));
    if (row != NULL)
        memcpy(found, row, sizeof(*found));
    return row != NULL;
}

/* The text at that address of the loaded program; NULL: there is none. */
static const char *text_at(const image_t *image, const Elf64_Ehdr *head, uint64_t address)
{
    Elf64_Phdr one;
    for (unsigned i = 0; i < head->e_phnum && segment(image, head, i, &one); i++) {
        if (one.p_type != PT_LOAD || address < one.p_vaddr || address - one.p_vaddr >= one.p_filesz)
            continue;
        const char *text = part(image, one.p_offset, one.p_filesz);
        const uint64_t at = address - one.p_vaddr;
        return text != NULL && memchr(text + at, 0, one.p_filesz - at) != NULL ? text + at : NULL;
    }
    return NULL;
}

/* The value of the n-th entry with this tag; 0: there is none. */
static uint64_t dynamic(const image_t *image, const Elf64_Phdr *where, int64_t tag, unsigned n)
{
    Elf64_Dyn one;
    for (uint64_t at = 0; at + sizeof(one) <= where->p_filesz; at += sizeof(one)) {
        const void *row = part(image, where->p_offset + at, sizeof(one));
        if (row == NULL)
            return 0;
        memcpy(&one, row, sizeof(one));
        if (one.d_tag == tag && n-- == 0)
            return one.d_un.d_val;
    }
    return 0;
}

static void look_into(const image_t *image, launch_family_t *found)
{
    Elf64_Ehdr head;
    Elf64_Phdr where = {.p_type = PT_NULL};
    memcpy(&head, image->bytes, sizeof(head));
    if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64 ||
        head.e_phentsize != sizeof(Elf64_Phdr))
        return;
    for (unsigned i = 0; i < head.e_phnum && where.p_type != PT_DYNAMIC; i++)
        if (!segment(image, &head, i, &where))
            return;
    if (where.p_type != PT_DYNAMIC)
        return;
    const uint64_t texts = dynamic(image, &where, DT_STRTAB, 0);
    uint64_t name;
    for (unsigned n = 0; (name = dynamic(image, &where, DT_NEEDED, n)) != 0; n++) {
        const char *text = text_at(image, &head, texts + name);
        for (size_t i = 0; text != NULL && i < FAMILIES; i++)
            if (strcmp(text, families[i].library) == 0)
                found->folder = families[i].folder;
    }
    found->has_rpath = found->folder != NULL && dynamic(image, &where, DT_RPATH, 0) != 0 &&
                       dynamic(image, &where, DT_RUNPATH, 0) == 0;
}

/* As execvp finds it. */
static int find_program(const char *name, char path[PATH_MAX])
{
    const char *at = getenv("PATH");
    if (strchr(name, '/') != NULL || at == NULL)
        return snprintf(path, PATH_MAX, "%s", name) < PATH_MAX;
    for (;;) {
        const int length = (int)strcspn(at, ":");
        if (snprintf(path, PATH_MAX, "%.*s%s%s", length, at, length == 0 ? "" : "/", name) < PATH_MAX &&
            access(path, X_OK) == 0)
            return 1;
        if (at[length] == 0)
            return 0;
        at += length + 1;
    }
}

launch_family_t launch_family(const char *program)
{
    launch_family_t found = {.folder = NULL};
    char path[PATH_MAX];
    image_t image;
    if (find_program(program, path) && open_image(path, &image) == 0) {
        look_into(&image, &found);
        (void)munmap((void *)(uintptr_t)image.bytes, image.size);
    }
    return found;
}

/* The folder lib/ of this installation: beside the folder of mpiexec. */
static int own_libraries(char folder[PATH_MAX])
{
    const ssize_t length = readlink("/proc/self/exe", folder, PATH_MAX - 1);
    if (length <= 0)
        return 0;
    folder[length] = 0;
    for (int i = 0; i < 2; i++) {
        char *slash = strrchr(folder, '/');
        if (slash == NULL)
            return 0;
        *slash = 0;
    }
    return snprintf(folder + strlen(folder), PATH_MAX - strlen(folder), "/lib") < PATH_MAX - (int)strlen(folder);
}

static void put_first(const char *variable, const char *value, char separator)
{
    const char *old = getenv(variable);
    char *both;
    if (old == NULL || *old == 0)
        (void)setenv(variable, value, 1);
    else if (asprintf(&both, "%s%c%s", value, separator, old) > 0) {
        (void)setenv(variable, both, 1);
        free(both);
    }
}

/* The loader ends a path at a space or a colon. */
static void preload(const char *path)
{
    if (strpbrk(path, " :") == NULL && access(path, R_OK) == 0)
        put_first("LD_PRELOAD", path, ':');
}

void launch_family_environment(const char *program)
{
    char folder[PATH_MAX];
    char path[2 * PATH_MAX];
    if (!own_libraries(folder))
        return;
    for (size_t i = FAMILIES; i-- > 0;) {
        (void)snprintf(path, sizeof(path), "%s/%s", folder, families[i].folder);
        if ((i == 0 || strcmp(families[i - 1].folder, families[i].folder) != 0) && access(path, X_OK) == 0)
            put_first("LD_LIBRARY_PATH", path, ':');
    }
    const launch_family_t family = launch_family(program);
    const char *heap = getenv("VBN_MPI_HEAP");
    if (heap != NULL && strcmp(heap, "node") == 0) { /* the program's malloc: mpi/heap */
        (void)snprintf(path, sizeof(path), "%s/libverbena_heap.so", folder);
        preload(path);
    }
    for (size_t i = 0; i < FAMILIES && family.has_rpath; i++) {
        (void)snprintf(path, sizeof(path), "%s/%s/%s", folder, families[i].folder, families[i].library);
        if (strcmp(families[i].folder, family.folder) == 0)
            preload(path);
    }
}
