// SPDX-License-Identifier: Apache-2.0
/** A client of memcached servers: by messages of the native core and one-sided reads, by sockets to stock servers. */
package org.verbena.memcached;
