/* SPDX-License-Identifier: Apache-2.0
 * options.c - handles described by a text: "--SERVER=host:11211/?2 --POLL-TIMEOUT=100 --NAMESPACE=\"shop\"". */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "compat/compat.h"

#define PORT_MAX 65535u
#define WEIGHT_MAX 65535u

/* A word of the text, split at its '='; value: NULL where it has none. */
typedef struct word {
    char *name, *value;
} word_t;

typedef rc_t (*apply_t)(memcached_st *ptr, const word_t *word, memcached_behavior_t behavior);

static rc_t refuse(memcached_st *ptr, const word_t *word, const char *why)
{
    char text[ERROR_BYTES];
    (void)snprintf(text, sizeof(text), "%.200s: %s", word->name, why);
    return fail(ptr, MEMCACHED_PARSE_ERROR, text);
}

/* The number at *text_p, which moves behind it. */
static bool read_number(char **text_p, unsigned long most, unsigned long *value_p)
{
    char *end;
    errno = 0;
    if (!isdigit((unsigned char)**text_p))
        return false;
    *value_p = strtoul(*text_p, &end, 10);
    *text_p = end;
    return errno == 0 && *value_p <= most;
}

/* ------------------------------------------------------------------------------------------ what words do */

static rc_t apply_flag(memcached_st *ptr, const word_t *word, memcached_behavior_t behavior)
{
    rc_t rc = memcached_behavior_set(ptr, behavior, 1);
    return rc == MEMCACHED_SUCCESS ? rc : refuse(ptr, word, memcached_last_error_message(ptr));
}

static rc_t apply_number(memcached_st *ptr, const word_t *word, memcached_behavior_t behavior)
{
    unsigned long number;
    char *at = word->value;
    if (!read_number(&at, INT32_MAX, &number) || *at != '\0')
        return refuse(ptr, word, "give a number");
    return memcached_behavior_set(ptr, behavior, number);
}

/* "/?N" at the end; 1 where there is none. Cuts it off. */
static bool take_weight(char *text, unsigned long *weight_p)
{
    char *weight = strstr(text, "/?");
    *weight_p = 1;
    if (weight == NULL)
        return true;
    *weight = '\0';
    weight += 2;
    return read_number(&weight, WEIGHT_MAX, weight_p) && *weight == '\0';
}

static rc_t apply_server(memcached_st *ptr, const word_t *word, memcached_behavior_t behavior)
{
    unsigned long weight, port = DEFAULT_PORT;
    char *host = word->value;
    bool right = take_weight(host, &weight);
    char *colon = *host == '[' ? strstr(host, "]:") : strchr(host, ':');
    (void)behavior;
    if (right && colon != NULL) {
        char *at = colon + 1 + (*colon == ']');
        right = read_number(&at, PORT_MAX, &port) && *at == '\0';
        colon[*colon == ']'] = '\0';
    }
    if (!right || *host == '\0')
        return refuse(ptr, word, "give host, host:port or host:port/?weight");
    return memcached_server_add_with_weight(ptr, host, (in_port_t)port, (uint32_t)weight);
}

static rc_t apply_socket(memcached_st *ptr, const word_t *word, memcached_behavior_t behavior)
{
    unsigned long weight;
    (void)behavior;
    if (!take_weight(word->value, &weight) || *word->value == '\0')
        return refuse(ptr, word, "give a path, or path/?weight");
    return memcached_server_add_unix_socket_with_weight(ptr, word->value, (uint32_t)weight);
}

static rc_t apply_namespace(memcached_st *ptr, const word_t *word, memcached_behavior_t behavior)
{
    (void)behavior;
    if (ptr->_namespace != NULL)
        return refuse(ptr, word, "it can only be given once");
    rc_t rc = prefix_set(ptr, word->value, strlen(word->value));
    return rc == MEMCACHED_SUCCESS ? rc : refuse(ptr, word, "give a prefix of keys, up to 127 bytes");
}

static bool read_hash(const char *name, memcached_hash_t *hash_p)
{
    for (unsigned i = MEMCACHED_HASH_MD5; i <= MEMCACHED_HASH_JENKINS; i++)
        if (strcasecmp(libmemcached_string_hash((memcached_hash_t)i), name) == 0) {
            *hash_p = (memcached_hash_t)i;
            return true;
        }
    return false;
}

static rc_t apply_hash(memcached_st *ptr, const word_t *word, memcached_behavior_t behavior)
{
    memcached_hash_t hash;
    (void)behavior;
    if (!read_hash(word->value, &hash))
        return refuse(ptr, word, "give MD5, CRC, FNV1_64, FNV1A_64, FNV1_32, FNV1A_32, MURMUR or JENKINS");
    return memcached_behavior_set_key_hash(ptr, hash);
}

static rc_t apply_distribution(memcached_st *ptr, const word_t *word, memcached_behavior_t behavior)
{
    static const struct {
        const char *name;
        memcached_server_distribution_t type;
    } types[] = {{"CONSISTENT", MEMCACHED_DISTRIBUTION_CONSISTENT},
                 {"MODULA", MEMCACHED_DISTRIBUTION_MODULA},
                 {"RANDOM", MEMCACHED_DISTRIBUTION_RANDOM}};
    memcached_hash_t hash;
    char *comma = strchr(word->value, ',');
    (void)behavior;
    if (comma != NULL) {
        *comma = '\0';
        if (!read_hash(comma + 1, &hash))
            return refuse(ptr, word, "the hash is unknown");
        (void)memcached_behavior_set_distribution_hash(ptr, hash);
    }
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (strcasecmp(types[i].name, word->value) == 0)
            return memcached_behavior_set_distribution(ptr, types[i].type);
    return refuse(ptr, word, "give CONSISTENT, MODULA or RANDOM");
}

static rc_t apply_pool(memcached_st *ptr, const word_t *word, memcached_behavior_t behavior)
{
    unsigned long number;
    char *at = word->value;
    (void)behavior;
    if (!read_number(&at, INT32_MAX, &number) || *at != '\0')
        return refuse(ptr, word, "give a number");
    if (strcasecmp(word->name, "--POOL-MIN") == 0)
        ptr->configure.initial_pool_size = (uint32_t)number;
    else
        ptr->configure.max_pool_size = (uint32_t)number;
    return MEMCACHED_SUCCESS;
}

/* libmemcached takes them and does nothing. */
static rc_t apply_nothing(memcached_st *ptr, const word_t *word, memcached_behavior_t behavior)
{
    (void)ptr;
    (void)word;
    (void)behavior;
    return MEMCACHED_SUCCESS;
}

static rc_t apply_file(memcached_st *ptr, const word_t *word, memcached_behavior_t behavior)
{
    (void)word;
    (void)behavior;
    return fail(ptr, MEMCACHED_NOT_SUPPORTED, "options do not come from files: give them in the text");
}

typedef struct option_row {
    const char *name;
    apply_t apply;
    memcached_behavior_t behavior;
} option_row_t;

#define FLAG(name, behavior) {"--" name, apply_flag, MEMCACHED_BEHAVIOR_##behavior}
#define NUMBER(name, behavior) {"--" name, apply_number, MEMCACHED_BEHAVIOR_##behavior}
#define OTHER(name, apply) {name, apply, MEMCACHED_BEHAVIOR_MAX}

static const option_row_t OPTIONS[] = {
    OTHER("--SERVER", apply_server),
    OTHER("--SOCKET", apply_socket),
    OTHER("--NAMESPACE", apply_namespace),
    OTHER("--HASH", apply_hash),
    OTHER("--DISTRIBUTION", apply_distribution),
    OTHER("--POOL-MIN", apply_pool),
    OTHER("--POOL-MAX", apply_pool),
    OTHER("--FETCH-VERSION", apply_nothing),
    OTHER("--USER-DATA", apply_nothing),
    OTHER("--CONFIGURE-FILE", apply_file),
    OTHER("INCLUDE", apply_file),
    FLAG("BINARY-PROTOCOL", BINARY_PROTOCOL),
    FLAG("BUFFER-REQUESTS", BUFFER_REQUESTS),
    FLAG("HASH-WITH-NAMESPACE", HASH_WITH_PREFIX_KEY),
    FLAG("NOREPLY", NOREPLY),
    FLAG("RANDOMIZE-REPLICA-READ", RANDOMIZE_REPLICA_READ),
    FLAG("SORT-HOSTS", SORT_HOSTS),
    FLAG("SUPPORT-CAS", SUPPORT_CAS),
    FLAG("TCP-NODELAY", TCP_NODELAY),
    FLAG("TCP-KEEPALIVE", TCP_KEEPALIVE),
    FLAG("TCP-KEEPIDLE", TCP_KEEPIDLE),
    FLAG("USE-UDP", USE_UDP),
    FLAG("VERIFY-KEY", VERIFY_KEY),
    NUMBER("REMOVE-FAILED-SERVERS", REMOVE_FAILED_SERVERS),
    NUMBER("CONNECT-TIMEOUT", CONNECT_TIMEOUT),
    NUMBER("IO-MSG-WATERMARK", IO_MSG_WATERMARK),
    NUMBER("IO-BYTES-WATERMARK", IO_BYTES_WATERMARK),
    NUMBER("IO-KEY-PREFETCH", IO_KEY_PREFETCH),
    NUMBER("NUMBER-OF-REPLICAS", NUMBER_OF_REPLICAS),
    NUMBER("POLL-TIMEOUT", POLL_TIMEOUT),
    NUMBER("RCV-TIMEOUT", RCV_TIMEOUT),
    NUMBER("RETRY-TIMEOUT", RETRY_TIMEOUT),
    NUMBER("SND-TIMEOUT", SND_TIMEOUT),
    NUMBER("SOCKET-RECV-SIZE", SOCKET_RECV_SIZE),
    NUMBER("SOCKET-SEND-SIZE", SOCKET_SEND_SIZE),
};

/* ------------------------------------------------------------------------------------------------ reading */

static rc_t apply(memcached_st *ptr, const word_t *word)
{
    for (size_t i = 0; i < sizeof(OPTIONS) / sizeof(OPTIONS[0]); i++) {
        const option_row_t *row = &OPTIONS[i];
        if (strcasecmp(row->name, word->name) != 0)
            continue;
        bool needs_value = row->apply != apply_flag && row->apply != apply_nothing && row->apply != apply_file;
        if (needs_value && word->value == NULL)
            return refuse(ptr, word, "give a value behind =");
        return row->apply(ptr, word, row->behavior);
    }
    if (strcasecmp(word->name, "ERROR") == 0)
        return fail(ptr, MEMCACHED_PARSE_USER_ERROR, "ERROR called directly");
    return refuse(ptr, word, "unknown option");
}

/* The next word: up to a blank that is not in quotes. The quotes go. NULL: there is none. */
static char *next_word(char **text_p)
{
    char *at = *text_p, *word, *to;
    bool quoted = false;
    at += strspn(at, " \t\r\n");
    if (*at == '\0')
        return NULL;
    for (word = to = at; *at != '\0' && (quoted || strchr(" \t\r\n", *at) == NULL); at++) {
        if (*at == '"')
            quoted = !quoted;
        else
            *to++ = *at;
    }
    *text_p = *at == '\0' ? at : at + 1;
    *to = '\0';
    return word;
}

static rc_t parse(memcached_st *ptr, char *text)
{
    rc_t rc = MEMCACHED_SUCCESS;
    for (char *name = next_word(&text); name != NULL && rc == MEMCACHED_SUCCESS; name = next_word(&text)) {
        char *value = strchr(name, '=');
        if (strcasecmp(name, "END") == 0)
            return rc;
        if (value != NULL)
            *value++ = '\0';
        rc = strcasecmp(name, "RESET") == 0 ? memcached_reset(ptr) : apply(ptr, &(word_t){name, value});
    }
    return rc;
}

static rc_t options_apply(memcached_st *ptr, const char *text, size_t length)
{
    char *copy = strndup(text, length);
    if (copy == NULL)
        return fail(ptr, MEMCACHED_MEMORY_ALLOCATION_FAILURE, NULL);
    rc_t rc = parse(ptr, copy);
    free(copy);
    return rc;
}

memcached_st *memcached(const char *string, size_t string_length)
{
    memcached_st *ptr = memcached_create(NULL);
    if (ptr == NULL || string == NULL)
        return ptr;
    if (string_length > 0 && options_apply(ptr, string, string_length) == MEMCACHED_SUCCESS)
        return ptr;
    memcached_free(ptr);
    return NULL;
}

rc_t libmemcached_check_configuration(const char *option_string, size_t length, char *error_buffer,
                                      size_t error_buffer_size)
{
    memcached_st ptr;
    if (option_string == NULL || length == 0)
        return MEMCACHED_INVALID_ARGUMENTS;
    if (memcached_create(&ptr) == NULL)
        return MEMCACHED_MEMORY_ALLOCATION_FAILURE;
    rc_t rc = options_apply(&ptr, option_string, length);
    if (rc != MEMCACHED_SUCCESS && error_buffer != NULL && error_buffer_size > 0)
        (void)snprintf(error_buffer, error_buffer_size, "%s", memcached_last_error_message(&ptr));
    memcached_free(&ptr);
    return rc;
}
