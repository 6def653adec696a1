// SPDX-License-Identifier: Apache-2.0
/** Tests of the tiers on Hadoop's own replicas. */
package org.apache.hadoop.hdfs.server.datanode.fsdataset.impl;
