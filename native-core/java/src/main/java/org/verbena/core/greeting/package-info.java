// SPDX-License-Identifier: Apache-2.0
/**
 * How a TCP address leads to an engine: what servers say there, what clients make of it, and what ties the TCP connection to the
 * stream that the client opens. Bytes and states alone: whoever uses it brings the sockets.
 */
package org.verbena.core.greeting;
