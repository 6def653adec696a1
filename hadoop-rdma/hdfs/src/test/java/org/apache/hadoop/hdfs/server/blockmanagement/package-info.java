// SPDX-License-Identifier: Apache-2.0
/** Tests of the NameNode's choice of replicas, in Hadoop's package as it is. */
package org.apache.hadoop.hdfs.server.blockmanagement;
