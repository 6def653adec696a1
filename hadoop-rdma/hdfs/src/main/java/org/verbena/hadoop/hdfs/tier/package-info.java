// SPDX-License-Identifier: Apache-2.0
/** Tiers of storage on a DataNode, and which replicas go where: {@code verbena.hdfs.mode=hhh}. */
package org.verbena.hadoop.hdfs.tier;
