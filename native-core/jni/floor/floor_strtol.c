/* SPDX-License-Identifier: Apache-2.0 */
/* floor_strtol.c - names that headers of glibc 2.38 and newer give to strtol and its kind (C23 reads 0b101, too), inside this
 * library. A host with older headers calls none of them. */
#include <stdarg.h>
#include <stdio.h>

long old_strtol(const char *text, char **end, int base) __asm__("strtol");
unsigned long old_strtoul(const char *text, char **end, int base) __asm__("strtoul");
long long old_strtoll(const char *text, char **end, int base) __asm__("strtoll");
unsigned long long old_strtoull(const char *text, char **end, int base) __asm__("strtoull");
int old_vsscanf(const char *text, const char *format, va_list values) __asm__("__isoc99_vsscanf");

long __isoc23_strtol(const char *text, char **end, int base);
unsigned long __isoc23_strtoul(const char *text, char **end, int base);
long long __isoc23_strtoll(const char *text, char **end, int base);
unsigned long long __isoc23_strtoull(const char *text, char **end, int base);
int __isoc23_sscanf(const char *text, const char *format, ...);

long __isoc23_strtol(const char *text, char **end, int base)
{
    return old_strtol(text, end, base);
}

unsigned long __isoc23_strtoul(const char *text, char **end, int base)
{
    return old_strtoul(text, end, base);
}

long long __isoc23_strtoll(const char *text, char **end, int base)
{
    return old_strtoll(text, end, base);
}

unsigned long long __isoc23_strtoull(const char *text, char **end, int base)
{
    return old_strtoull(text, end, base);
}

int __isoc23_sscanf(const char *text, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    int count = old_vsscanf(text, format, values);
    va_end(values);
    return count;
}
