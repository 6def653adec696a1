// SPDX-License-Identifier: Apache-2.0
/** Hadoop's RPC over the native core: settings, engines of this JVM, servers that it calls, and streams as sockets. */
package org.verbena.hadoop.rpc.node;
