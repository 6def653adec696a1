/* SPDX-License-Identifier: Apache-2.0
 * report.c - prints facts, as lines or as a JSON array. */
#include <stdarg.h>
#include <stdio.h>

#include "info.h"

void json_string(const char *text)
{
    putchar('"');
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            printf("\\%c", c);
        else if (c < 0x20)
            printf("\\u%04x", c);
        else
            putchar(c);
    }
    putchar('"');
}

void json_next(report_t *report)
{
    printf("%s  ", report->first ? "[\n" : ",\n");
    report->first = false;
}

static void json_fact(report_t *report, const char *name, grade_t grade, const char *cure, const char *value)
{
    json_next(report);
    printf("{\"name\": ");
    json_string(name);
    printf(", \"ok\": %s, \"value\": ", grade == GRADE_MISSING ? "false" : "true");
    json_string(value);
    if (cure != NULL) {
        printf(", \"cure\": ");
        json_string(cure);
    }
    printf("}");
}

void tell(report_t *report, const char *name, grade_t grade, const char *cure, const char *format, ...)
{
    static const char *const MARKS[] = {"ok", "slow", "!", "off", "none"};
    char value[2048];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(value, sizeof(value), format, args);
    va_end(args);
    report->problems += grade == GRADE_MISSING;
    if (report->json) {
        json_fact(report, name, grade, cure, value);
        return;
    }
    printf("%-18s %-4s %s\n", name, MARKS[grade], value);
    if (cure != NULL)
        printf("%-18s      -> %s\n", "", cure);
}
