/* SPDX-License-Identifier: Apache-2.0
 * api.h - the functions of libmemcached.so.11, by the file that has them. Programs are compiled with libmemcached's own
 * headers. */
#ifndef MC_COMPAT_API_H
#define MC_COMPAT_API_H

#include "compat/types.h"

/* Of a call: the server is that of the group key. */
#define GROUP const char *group_key, size_t group_key_length
#define KEY const char *key, size_t key_length
#define VALUE const char *value, size_t value_length, time_t expiration, uint32_t flags
#define KEYS const char *const *keys, const size_t *key_length, size_t number_of_keys
#define CALLBACKS memcached_execute_fn *callback, void *context, uint32_t number_of_callbacks
typedef memcached_return_t rc_t;

/* ---- handle.c */
COMPAT_API memcached_st *memcached_create(memcached_st *ptr);
COMPAT_API void memcached_free(memcached_st *ptr);
COMPAT_API memcached_st *memcached_clone(memcached_st *clone, const memcached_st *source);
COMPAT_API rc_t memcached_reset(memcached_st *ptr);
COMPAT_API void memcached_quit(memcached_st *ptr);
COMPAT_API rc_t memcached_flush_buffers(memcached_st *ptr);
COMPAT_API void *memcached_get_user_data(const memcached_st *ptr);
COMPAT_API void *memcached_set_user_data(memcached_st *ptr, void *data);
COMPAT_API uint64_t memcached_query_id(const memcached_st *ptr);
COMPAT_API const char *memcached_lib_version(void);
/* ---- options.c */
COMPAT_API memcached_st *memcached(const char *string, size_t string_length);
COMPAT_API rc_t libmemcached_check_configuration(const char *option_string, size_t length, char *error_buffer,
                                                 size_t error_buffer_size);
/* ---- servers.c */
COMPAT_API rc_t memcached_server_add(memcached_st *ptr, const char *hostname, in_port_t port);
COMPAT_API rc_t memcached_server_add_with_weight(memcached_st *ptr, const char *hostname, in_port_t port,
                                                 uint32_t weight);
COMPAT_API rc_t memcached_server_add_udp(memcached_st *ptr, const char *hostname, in_port_t port);
COMPAT_API rc_t memcached_server_add_udp_with_weight(memcached_st *ptr, const char *hostname, in_port_t port,
                                                     uint32_t weight);
COMPAT_API rc_t memcached_server_add_unix_socket(memcached_st *ptr, const char *filename);
COMPAT_API rc_t memcached_server_add_unix_socket_with_weight(memcached_st *ptr, const char *filename, uint32_t weight);
COMPAT_API rc_t memcached_server_push(memcached_st *ptr, const memcached_server_list_st list);
COMPAT_API rc_t memcached_push(memcached_st *destination, const memcached_st *source);
COMPAT_API void memcached_servers_reset(memcached_st *ptr);
COMPAT_API uint32_t memcached_server_count(const memcached_st *ptr);
COMPAT_API const memcached_instance_st *memcached_server_by_key(memcached_st *ptr, KEY, rc_t *error);
COMPAT_API const memcached_instance_st *memcached_server_get_last_disconnect(const memcached_st *ptr);
COMPAT_API void memcached_reset_last_disconnected_server(memcached_st *ptr);
COMPAT_API rc_t memcached_server_cursor(const memcached_st *ptr, const memcached_server_fn *callback, void *context,
                                        uint32_t number_of_callbacks);
/* ---- instance.c */
COMPAT_API const memcached_instance_st *memcached_server_instance_by_position(const memcached_st *ptr,
                                                                              uint32_t server_key);
COMPAT_API const char *memcached_server_name(const memcached_instance_st *self);
COMPAT_API in_port_t memcached_server_port(const memcached_instance_st *self);
COMPAT_API in_port_t memcached_server_srcport(const memcached_instance_st *self);
COMPAT_API const char *memcached_server_type(const memcached_instance_st *self);
COMPAT_API uint32_t memcached_server_response_count(const memcached_instance_st *self);
COMPAT_API void memcached_instance_next_retry(const memcached_instance_st *self, const time_t absolute_time);
COMPAT_API uint8_t memcached_server_major_version(const memcached_instance_st *self);
COMPAT_API uint8_t memcached_server_minor_version(const memcached_instance_st *self);
COMPAT_API uint8_t memcached_server_micro_version(const memcached_instance_st *self);
COMPAT_API const char *memcached_server_error(const memcached_instance_st *self);
COMPAT_API rc_t memcached_server_error_return(const memcached_instance_st *self);
/* ---- list.c */
COMPAT_API memcached_server_list_st memcached_servers_parse(const char *server_strings);
COMPAT_API memcached_server_list_st memcached_server_list_append(memcached_server_list_st list, const char *hostname,
                                                                 in_port_t port, rc_t *error);
COMPAT_API memcached_server_list_st memcached_server_list_append_with_weight(memcached_server_list_st list,
                                                                             const char *hostname, in_port_t port,
                                                                             uint32_t weight, rc_t *error);
COMPAT_API uint32_t memcached_server_list_count(const memcached_server_list_st list);
COMPAT_API void memcached_server_list_free(memcached_server_list_st list);
COMPAT_API void memcached_server_free(memcached_server_st *server);
COMPAT_API void memcached_server_error_reset(memcached_server_st *server);
/* ---- place.c */
COMPAT_API uint32_t memcached_generate_hash(const memcached_st *ptr, KEY);
COMPAT_API uint32_t memcached_generate_hash_value(KEY, memcached_hash_t algorithm);
COMPAT_API void memcached_autoeject(memcached_st *ptr);
COMPAT_API const hashkit_st *memcached_get_hashkit(const memcached_st *ptr);
COMPAT_API rc_t memcached_set_hashkit(memcached_st *ptr, hashkit_st *hashkit);
/* ---- behavior.c */
COMPAT_API rc_t memcached_behavior_set(memcached_st *ptr, const memcached_behavior_t flag, uint64_t data);
COMPAT_API uint64_t memcached_behavior_get(memcached_st *ptr, const memcached_behavior_t flag);
COMPAT_API rc_t memcached_behavior_set_distribution(memcached_st *ptr, memcached_server_distribution_t type);
COMPAT_API memcached_server_distribution_t memcached_behavior_get_distribution(memcached_st *ptr);
COMPAT_API rc_t memcached_behavior_set_key_hash(memcached_st *ptr, memcached_hash_t type);
COMPAT_API memcached_hash_t memcached_behavior_get_key_hash(memcached_st *ptr);
COMPAT_API rc_t memcached_behavior_set_distribution_hash(memcached_st *ptr, memcached_hash_t type);
COMPAT_API memcached_hash_t memcached_behavior_get_distribution_hash(memcached_st *ptr);
COMPAT_API rc_t memcached_bucket_set(memcached_st *ptr, const uint32_t *host_map, const uint32_t *forward_map,
                                     const uint32_t buckets, const uint32_t replicas);
COMPAT_API const char *libmemcached_string_behavior(const memcached_behavior_t flag);
COMPAT_API const char *libmemcached_string_distribution(const memcached_server_distribution_t type);
COMPAT_API const char *libmemcached_string_hash(memcached_hash_t type);
/* ---- callback.c */
COMPAT_API rc_t memcached_callback_set(memcached_st *ptr, const memcached_callback_t flag, const void *data);
COMPAT_API void *memcached_callback_get(memcached_st *ptr, const memcached_callback_t flag, rc_t *error);
/* ---- memory.c */
COMPAT_API rc_t memcached_set_memory_allocators(memcached_st *ptr, memcached_malloc_fn mem_malloc,
                                                memcached_free_fn mem_free, memcached_realloc_fn mem_realloc,
                                                memcached_calloc_fn mem_calloc, void *context);
COMPAT_API void memcached_get_memory_allocators(const memcached_st *ptr, memcached_malloc_fn *mem_malloc,
                                                memcached_free_fn *mem_free, memcached_realloc_fn *mem_realloc,
                                                memcached_calloc_fn *mem_calloc);
COMPAT_API void *memcached_get_memory_allocators_context(const memcached_st *ptr);
/* ---- error.c */
COMPAT_API const char *memcached_strerror(const memcached_st *ptr, rc_t rc);
COMPAT_API const char *memcached_error(const memcached_st *ptr);
COMPAT_API const char *memcached_last_error_message(const memcached_st *ptr);
COMPAT_API void memcached_error_print(const memcached_st *ptr);
COMPAT_API rc_t memcached_last_error(const memcached_st *ptr);
COMPAT_API int memcached_last_error_errno(const memcached_st *ptr);
/* ---- result.c */
COMPAT_API memcached_result_st *memcached_result_create(const memcached_st *ptr, memcached_result_st *result);
COMPAT_API void memcached_result_free(memcached_result_st *result);
COMPAT_API void memcached_result_reset(memcached_result_st *result);
COMPAT_API const char *memcached_result_key_value(const memcached_result_st *self);
COMPAT_API size_t memcached_result_key_length(const memcached_result_st *self);
COMPAT_API const char *memcached_result_value(const memcached_result_st *self);
COMPAT_API char *memcached_result_take_value(memcached_result_st *self);
COMPAT_API size_t memcached_result_length(const memcached_result_st *self);
COMPAT_API uint32_t memcached_result_flags(const memcached_result_st *self);
COMPAT_API uint64_t memcached_result_cas(const memcached_result_st *self);
COMPAT_API rc_t memcached_result_set_value(memcached_result_st *self, const char *value, size_t length);
COMPAT_API void memcached_result_set_flags(memcached_result_st *self, uint32_t flags);
COMPAT_API void memcached_result_set_expiration(memcached_result_st *self, time_t expiration);
/* ---- storage.c */
COMPAT_API rc_t memcached_set(memcached_st *ptr, KEY, VALUE);
COMPAT_API rc_t memcached_set_by_key(memcached_st *ptr, GROUP, KEY, VALUE);
COMPAT_API rc_t memcached_add(memcached_st *ptr, KEY, VALUE);
COMPAT_API rc_t memcached_add_by_key(memcached_st *ptr, GROUP, KEY, VALUE);
COMPAT_API rc_t memcached_replace(memcached_st *ptr, KEY, VALUE);
COMPAT_API rc_t memcached_replace_by_key(memcached_st *ptr, GROUP, KEY, VALUE);
COMPAT_API rc_t memcached_append(memcached_st *ptr, KEY, VALUE);
COMPAT_API rc_t memcached_append_by_key(memcached_st *ptr, GROUP, KEY, VALUE);
COMPAT_API rc_t memcached_prepend(memcached_st *ptr, KEY, VALUE);
COMPAT_API rc_t memcached_prepend_by_key(memcached_st *ptr, GROUP, KEY, VALUE);
COMPAT_API rc_t memcached_cas(memcached_st *ptr, KEY, VALUE, uint64_t cas);
COMPAT_API rc_t memcached_cas_by_key(memcached_st *ptr, GROUP, KEY, VALUE, uint64_t cas);
/* ---- change.c */
COMPAT_API rc_t memcached_delete(memcached_st *ptr, KEY, time_t expiration);
COMPAT_API rc_t memcached_delete_by_key(memcached_st *ptr, GROUP, KEY, time_t expiration);
COMPAT_API rc_t memcached_touch(memcached_st *ptr, KEY, time_t expiration);
COMPAT_API rc_t memcached_touch_by_key(memcached_st *ptr, GROUP, KEY, time_t expiration);
COMPAT_API rc_t memcached_exist(memcached_st *ptr, KEY);
COMPAT_API rc_t memcached_exist_by_key(memcached_st *ptr, GROUP, KEY);
/* ---- number.c */
COMPAT_API rc_t memcached_increment(memcached_st *ptr, KEY, uint32_t offset, uint64_t *value);
COMPAT_API rc_t memcached_decrement(memcached_st *ptr, KEY, uint32_t offset, uint64_t *value);
COMPAT_API rc_t memcached_increment_by_key(memcached_st *ptr, GROUP, KEY, uint64_t offset, uint64_t *value);
COMPAT_API rc_t memcached_decrement_by_key(memcached_st *ptr, GROUP, KEY, uint64_t offset, uint64_t *value);
COMPAT_API rc_t memcached_increment_with_initial(memcached_st *ptr, KEY, uint64_t offset, uint64_t initial,
                                                 time_t expiration, uint64_t *value);
COMPAT_API rc_t memcached_decrement_with_initial(memcached_st *ptr, KEY, uint64_t offset, uint64_t initial,
                                                 time_t expiration, uint64_t *value);
COMPAT_API rc_t memcached_increment_with_initial_by_key(memcached_st *ptr, GROUP, KEY, uint64_t offset,
                                                        uint64_t initial, time_t expiration, uint64_t *value);
COMPAT_API rc_t memcached_decrement_with_initial_by_key(memcached_st *ptr, GROUP, KEY, uint64_t offset,
                                                        uint64_t initial, time_t expiration, uint64_t *value);
/* ---- get.c */
COMPAT_API char *memcached_get(memcached_st *ptr, KEY, size_t *value_length, uint32_t *flags, rc_t *error);
COMPAT_API char *memcached_get_by_key(memcached_st *ptr, GROUP, KEY, size_t *value_length, uint32_t *flags,
                                      rc_t *error);
/* ---- mget.c */
COMPAT_API rc_t memcached_mget(memcached_st *ptr, KEYS);
COMPAT_API rc_t memcached_mget_by_key(memcached_st *ptr, GROUP, KEYS);
COMPAT_API rc_t memcached_mget_execute(memcached_st *ptr, KEYS, CALLBACKS);
COMPAT_API rc_t memcached_mget_execute_by_key(memcached_st *ptr, GROUP, KEYS, CALLBACKS);
/* ---- fetch.c */
COMPAT_API char *memcached_fetch(memcached_st *ptr, char *key, size_t *key_length, size_t *value_length,
                                 uint32_t *flags, rc_t *error);
COMPAT_API memcached_result_st *memcached_fetch_result(memcached_st *ptr, memcached_result_st *result, rc_t *error);
COMPAT_API rc_t memcached_fetch_execute(memcached_st *ptr, CALLBACKS);
/* ---- admin.c */
COMPAT_API rc_t memcached_flush(memcached_st *ptr, time_t expiration);
COMPAT_API rc_t memcached_version(memcached_st *ptr);
COMPAT_API rc_t memcached_verbosity(memcached_st *ptr, uint32_t verbosity);
COMPAT_API rc_t memcached_dump(memcached_st *ptr, memcached_dump_fn *function, void *context,
                               uint32_t number_of_callbacks);
/* ---- stats.c */
COMPAT_API rc_t memcached_stat_execute(memcached_st *ptr, const char *args, memcached_stat_fn func, void *context);
COMPAT_API memcached_stat_st *memcached_stat(memcached_st *ptr, char *args, rc_t *error);
COMPAT_API rc_t memcached_stat_servername(memcached_stat_st *stat, char *args, const char *hostname, in_port_t port);
COMPAT_API char **memcached_stat_get_keys(memcached_st *ptr, memcached_stat_st *stat, rc_t *error);
COMPAT_API char *memcached_stat_get_value(const memcached_st *ptr, memcached_stat_st *stat, const char *key,
                                          rc_t *error);
COMPAT_API void memcached_stat_free(const memcached_st *ptr, memcached_stat_st *stat);
/* ---- analyze.c */
COMPAT_API memcached_analysis_st *memcached_analyze(memcached_st *ptr, memcached_stat_st *stat, rc_t *error);
COMPAT_API void memcached_analyze_free(memcached_analysis_st *analysis);
/* ---- missing.c: what answers MEMCACHED_NOT_SUPPORTED */
COMPAT_API void memcached_set_sasl_callbacks(memcached_st *ptr, const void *callbacks);
COMPAT_API void *memcached_get_sasl_callbacks(memcached_st *ptr);
COMPAT_API rc_t memcached_set_sasl_auth_data(memcached_st *ptr, const char *username, const char *password);
COMPAT_API rc_t memcached_destroy_sasl_auth_data(memcached_st *ptr);
COMPAT_API rc_t memcached_set_encoding_key(memcached_st *ptr, const char *key, size_t length);

#endif
