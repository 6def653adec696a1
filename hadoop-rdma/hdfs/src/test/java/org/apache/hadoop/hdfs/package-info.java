// SPDX-License-Identifier: Apache-2.0
/** Tests of classes that are in Hadoop's package. */
package org.apache.hadoop.hdfs;
