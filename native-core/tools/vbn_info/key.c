/* SPDX-License-Identifier: Apache-2.0
 * key.c - makes a job key: 256 random bits in a file of their own. */
#include <stdio.h>

#include "base/key_file.h"
#include "info.h"

int new_key(const char *path)
{
    if (key_file_new(path) != VBN_OK)
        info_fail("%s", vbn_error_text());
    printf("%s holds a new job key; give it, and nobody else, to all processes of the job\n", path);
    return 0;
}
