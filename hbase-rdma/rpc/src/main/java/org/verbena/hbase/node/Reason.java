// SPDX-License-Identifier: Apache-2.0
package org.verbena.hbase.node;

/** Why a call went by TCP. */
public enum Reason {
    /** The server has no engine: it runs without the jar, or stands aside. */
    NOT_ANSWERED,
    /** The core was still being connected. */
    WHILE_CONNECTING,
    /** The core's connection failed or was lost not long ago. */
    AFTER_FAILURES,
    /** A question to a server for the cluster's registry, which HBase asks over a connection of its own. */
    REGISTRY,
    /** More servers are reached by the core already than one process remembers. */
    TOO_MANY
}
