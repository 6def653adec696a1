// SPDX-License-Identifier: Apache-2.0
/** Tests of settings and of connections to one server. */
package org.verbena.hbase.node;
