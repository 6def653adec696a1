/* SPDX-License-Identifier: Apache-2.0
 * dlopen.c - loaded before PHP where our library has sanitizers, which do not go with PHP's RTLD_DEEPBIND: takes that away. */
#include <dlfcn.h>

void *dlopen(const char *name, int flags)
{
    void *(*next)(const char *, int) = (void *(*)(const char *, int))dlsym(RTLD_NEXT, "dlopen");
    return next(name, flags & ~RTLD_DEEPBIND);
}
