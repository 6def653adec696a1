// SPDX-License-Identifier: Apache-2.0
/** The classes that settings name for {@code verbena.hdfs.mode}: which replicas go where. */
package org.verbena.hadoop.hdfs.tier;
