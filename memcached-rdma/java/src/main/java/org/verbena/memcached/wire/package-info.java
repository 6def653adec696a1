// SPDX-License-Identifier: Apache-2.0
/** Requests and answers as bytes: meta commands, the hello, messages. Pure: no sockets, no threads. */
package org.verbena.memcached.wire;
