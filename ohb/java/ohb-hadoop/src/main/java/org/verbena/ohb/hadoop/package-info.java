// SPDX-License-Identifier: Apache-2.0
/** The load generator of HDFS' rows. */
package org.verbena.ohb.hadoop;
