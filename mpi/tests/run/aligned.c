/* SPDX-License-Identifier: Apache-2.0
 * aligned.c - MPI_Alloc_mem heeds mpi_minimum_memory_alignment (12.1); a hint that makes no sense changes nothing.
 * ranks: 1
 */
#include "rule.h"

#include <stdint.h>

static void *allocated(const char *alignment, MPI_Aint bytes)
{
    void *memory = NULL;
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_minimum_memory_alignment", alignment);
    CHECK(MPI_Alloc_mem(bytes, info, &memory) == MPI_SUCCESS && memory != NULL);
    MPI_Info_free(&info);
    return memory;
}

static void test(void)
{
    const char *const useless[] = {"0", "-4096", "much", "99999999999999999999999999", "9223372036854775807"};
    void *several[8];
    for (int i = 0; i < 8; i++) {
        several[i] = allocated("65536", 100);
        CHECK((uintptr_t)several[i] % 65536 == 0);
    }
    for (int i = 0; i < 8; i++)
        MPI_Free_mem(several[i]);
    for (size_t i = 0; i < sizeof(useless) / sizeof(useless[0]); i++)
        MPI_Free_mem(allocated(useless[i], 1 << 20));
    MPI_Free_mem(allocated("3000", 0));
}
