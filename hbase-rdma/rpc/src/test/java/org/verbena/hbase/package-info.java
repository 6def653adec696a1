// SPDX-License-Identifier: Apache-2.0
/** Tests of what decides; what needs a server is tested in tests/hbase. */
package org.verbena.hbase;
