// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.rpc.node;

/** Why a call went by TCP. */
public enum Reason {
    /** One of the first calls to that server. */
    FIRST_CALLS,
    /** The core was still being connected. */
    WHILE_CONNECTING,
    /** The server does not offer the core. */
    NOT_OFFERED,
    /** The core's connection failed or was lost not long ago. */
    AFTER_FAILURES,
    /** The connection could not be set up by the core: Hadoop tries by TCP, with its own retries. */
    NOT_SET_UP,
    /** The caller does not wait for the answer. */
    ASYNCHRONOUS,
    /** More servers are reached by the core already than one process remembers. */
    TOO_MANY
}
