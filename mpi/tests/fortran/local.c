/* SPDX-License-Identifier: Apache-2.0
 * local.c - loads each library of its arguments by itself, after MPI_Init, and calls its sums.
 */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int wrong = 0;
    MPI_Init(&argc, &argv);
    for (int i = 1; i < argc; i++) {
        void *library = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
        int (*sums)(void) = library == NULL ? NULL : (int (*)(void))dlsym(library, "local_sums");
        const int result = sums == NULL ? -1 : sums();
        if (result != 0)
            printf("%s: %d: %s\n", argv[i], result, result < 0 ? dlerror() : "a sum is wrong");
        wrong += result != 0;
    }
    MPI_Finalize();
    return wrong;
}
