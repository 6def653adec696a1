/* SPDX-License-Identifier: Apache-2.0
 * link_select.c - choice of transport. */
#include "link/link_select.h"

#include <stdio.h>
#include <string.h>

static size_t clause(char *text, size_t capacity, size_t at, const char *name, const char *why)
{
    int wrote = snprintf(text + at, capacity - at, "%s%s: %s", at == 0 ? "" : "; ", name, why);
    size_t end = at + (wrote > 0 ? (size_t)wrote : 0);
    return end < capacity ? end : capacity - 1;
}

static const char *why_not(const link_candidate_t *candidate, bool chosen_before)
{
    if (candidate->later && candidate->offered && candidate->status == VBN_OK)
        return "later, for a peer that is worth it (link.promote_after)";
    if (chosen_before)
        return "not needed";
    if (!candidate->offered)
        return "the peer does not offer it";
    return candidate->reason[0] != '\0' ? candidate->reason : vbn_status_name(candidate->status);
}

int link_select(const link_candidate_t *candidates, unsigned count, char *text, size_t capacity)
{
    int chosen = -1;
    size_t at = 0;
    for (unsigned i = 0; i < count && chosen < 0; i++)
        if (candidates[i].offered && candidates[i].status == VBN_OK && !candidates[i].later)
            chosen = (int)i;
    text[0] = '\0';
    if (chosen >= 0)
        at = clause(text, capacity, at, candidates[chosen].name, candidates[chosen].reason);
    for (unsigned i = 0; i < count; i++)
        if ((int)i != chosen)
            at = clause(text, capacity, at, candidates[i].name,
                        why_not(&candidates[i], chosen >= 0 && (int)i > chosen));
    return chosen;
}

int link_list_position(const char *list, const char *name)
{
    int position = 0;
    for (const char *at = list; *at != '\0'; position++) {
        at += strspn(at, " ,");
        size_t length = strcspn(at, " ,");
        if (length == 0)
            return -1;
        if (strlen(name) == length && memcmp(at, name, length) == 0)
            return position;
        at += length;
    }
    return -1;
}
