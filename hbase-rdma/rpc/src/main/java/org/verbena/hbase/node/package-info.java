// SPDX-License-Identifier: Apache-2.0
/** HBase's RPC over the native core: settings, the loops of this JVM, the servers that this process calls, counters. */
package org.verbena.hbase.node;
