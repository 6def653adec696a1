// SPDX-License-Identifier: Apache-2.0
/** The burst buffer of {@code lustre:}: memcached servers between writers and the shared directory. */
package org.verbena.hadoop.lustre.buffer;
