/* SPDX-License-Identifier: Apache-2.0
 * no_memfd.c - where the kernel refuses memfd_create, as in some containers, there is no node memory, and all else works.
 * ranks: 2 4
 */
#define RULE_OWN_MAIN
#include "rule.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static void refuse(void)
{
    struct sock_filter filter[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                                   BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_memfd_create, 0, 1),
                                   BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
                                   BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog program = {.len = sizeof(filter) / sizeof(filter[0]), .filter = filter};
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
    CHECK(syscall(SYS_memfd_create, "refused", 0) < 0 && errno == EPERM);
}

int main(int argc, char **argv)
{
    int sum;
    void *memory = NULL;
    refuse();
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < 100; i++) {
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        CHECK(sum == size * (size - 1) / 2);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    CHECK(MPI_Alloc_mem(100000, MPI_INFO_NULL, &memory) == MPI_SUCCESS); /* ordinary memory */
    memset(memory, 1, 100000);
    CHECK(MPI_Free_mem(memory) == MPI_SUCCESS);
    MPI_Finalize();
    return 0;
}
