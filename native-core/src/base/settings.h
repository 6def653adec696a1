/* SPDX-License-Identifier: Apache-2.0
 * settings.h - values of all settings; the struct and its table are generated from config/settings.yaml.
 *
 * Row "tl.tcp.port" becomes field `tl_tcp_port`, environment name VBN_TL_TCP_PORT. Types: bool -> bool, int ->
 * int64_t, size -> uint64_t bytes ("64K", "1M", "1G" accepted), time -> uint64_t nanoseconds ("10ms", "30s"), enum ->
 * int (generated constants SETTING_<ROW>_<VALUE>), string -> char[256]. */
#ifndef VBN_BASE_SETTINGS_H
#define VBN_BASE_SETTINGS_H

#include <stdbool.h>

#include "base/status.h"
#include "vbn_settings_gen.h" /* generated: struct settings, SETTINGS_COUNT */

void settings_defaults(settings_t *settings);
/* Takes every VBN_* variable of the environment. An unknown name that resembles a setting (close to one, or of a group
 * such as VBN_TL_) is VBN_ERR_SETTING with a suggestion. Others belong to somebody else: their names are listed in foreign,
 * cut to its capacity ("" when there are none; NULL and 0: not wanted). */
vbn_status_t settings_from_env(settings_t *settings, char **environment, char *foreign, size_t capacity);
/* key: dotted name. */
vbn_status_t settings_set(settings_t *settings, const char *key, const char *value);
/* Row of a setting in the table, or VBN_ERR_SETTING with a suggestion. */
vbn_status_t settings_index(const char *key, size_t *index_p);
/* Has this setting the value that nobody chose? False for an unknown one. */
bool settings_is_default(const settings_t *settings, const char *key);
/* The bounds of a number as "from 1 to 65536", with its units; "" where there are none or it is no number. */
struct setting_row;
void settings_bounds(const struct setting_row *row, char *text, size_t capacity);
/* Prints a value as settings_set would accept it; VBN_ERR_SETTING when unknown. */
vbn_status_t settings_get(const settings_t *settings, const char *key, char *value, size_t capacity);
/* Also the number, in base units (bytes, nanoseconds, 0 or 1): VBN_ERR_INVALID for an enum or a string. text and number_p may be
 * NULL. Nothing is written on failure. */
vbn_status_t settings_read(const settings_t *settings, const char *key, char *text, size_t capacity, int64_t *number_p);

#endif
