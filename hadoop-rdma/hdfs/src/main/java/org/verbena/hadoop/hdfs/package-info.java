// SPDX-License-Identifier: Apache-2.0
/** HDFS data transfer by the core: which DataNodes are reached so, and the plug points of client and DataNode. */
package org.verbena.hadoop.hdfs;
