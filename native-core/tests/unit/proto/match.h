/* SPDX-License-Identifier: Apache-2.0
 * match.h - the matching tables alone, with receives and messages named by numbers, for C++ tests. */
#ifndef VBN_TESTS_PROTO_MATCH_H
#define VBN_TESTS_PROTO_MATCH_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct match match_t;

match_t *match_new(unsigned ids); /* ids: receives and messages are 0 .. ids-1 */
void match_free(match_t *match);
void match_post(match_t *match, unsigned id, uint64_t source, uint64_t tag, uint64_t mask);
void match_unpost(match_t *match, unsigned id);
int match_find_posted(match_t *match, uint64_t source, uint64_t tag); /* -1 = none */
void match_keep(match_t *match, unsigned id, uint64_t source, uint64_t tag);
void match_unkeep(match_t *match, unsigned id);
int match_find_message(match_t *match, uint64_t source, uint64_t tag, uint64_t mask);
uint64_t match_looked(const match_t *match);  /* messages that receives were compared with */
unsigned match_longest_chain(match_t *match); /* of the exact tables */

#ifdef __cplusplus
}
#endif
#endif
