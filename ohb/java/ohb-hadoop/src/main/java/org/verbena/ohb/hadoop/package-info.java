// SPDX-License-Identifier: Apache-2.0
/** The load generators of HDFS' and MapReduce's rows. */
package org.verbena.ohb.hadoop;
