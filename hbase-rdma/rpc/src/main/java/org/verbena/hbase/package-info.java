// SPDX-License-Identifier: Apache-2.0
/** Reads on event loops and the doctor; {@code node} below knows the settings and the servers that are called. */
package org.verbena.hbase;
