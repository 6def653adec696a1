// SPDX-License-Identifier: Apache-2.0
/** The load generator of the row hbase. */
package org.verbena.ohb.hbase;
