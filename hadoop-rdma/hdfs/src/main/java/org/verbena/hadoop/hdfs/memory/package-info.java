// SPDX-License-Identifier: Apache-2.0
/** A DataNode's tier of memory: its folder, its size, its books; and the tiers of a block's replicas. */
package org.verbena.hadoop.hdfs.memory;
