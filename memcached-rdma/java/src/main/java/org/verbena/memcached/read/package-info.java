// SPDX-License-Identifier: Apache-2.0
/** Gets that read the memory of a server on this host, mapped here. Pure: buffers in, items out. */
package org.verbena.memcached.read;
