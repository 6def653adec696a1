/* SPDX-License-Identifier: Apache-2.0
 * replay_main.c - runs a fuzz target over files without libFuzzer: each file as it is, and with every single bit
 * flipped and every truncation, so that a corpus is a deterministic test with any compiler.
 *
 *   cc ... fuzz_tcp.c replay/replay_main.c libvbn.a -o replay_tcp && ./replay_tcp corpus/tcp/0* */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_MAX (1u << 20)
#define FLIP_MAX 4096u /* longer inputs are only replayed as they are */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* From a heap block of exactly this size, so that the sanitizer sees each byte read beyond. */
static void run_exact(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1);
    if (!copy)
        abort();
    memcpy(copy, data, size);
    (void)LLVMFuzzerTestOneInput(copy, size);
    free(copy);
}

static unsigned long replay(uint8_t *data, size_t size)
{
    unsigned long runs = 1;
    run_exact(data, size);
    if (size > FLIP_MAX)
        return runs;
    for (size_t n = 0; n < size; n++, runs++)
        run_exact(data, n);
    for (size_t bit = 0; bit < size * 8; bit++, runs++) {
        data[bit / 8] = (uint8_t)(data[bit / 8] ^ 1u << bit % 8);
        run_exact(data, size);
        data[bit / 8] = (uint8_t)(data[bit / 8] ^ 1u << bit % 8);
    }
    return runs;
}

int main(int argc, char **argv)
{
    static uint8_t data[FILE_MAX];
    unsigned long runs = 0;
    for (int i = 1; i < argc; i++) {
        FILE *file = fopen(argv[i], "rb");
        if (!file) {
            perror(argv[i]);
            return 1;
        }
        size_t size = fread(data, 1, sizeof(data), file);
        fclose(file);
        runs += replay(data, size);
    }
    printf("%lu runs\n%d passed, 0 failed\n", runs, argc - 1); /* a failure has ended the process */
    return argc > 1 ? 0 : 2;
}
