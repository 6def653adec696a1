// SPDX-License-Identifier: Apache-2.0
/** Tests of the receiver of blocks, in Hadoop's package as it is. */
package org.apache.hadoop.hdfs.server.datanode;
