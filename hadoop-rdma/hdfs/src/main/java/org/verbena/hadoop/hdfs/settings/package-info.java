// SPDX-License-Identifier: Apache-2.0
/** The settings of HDFS, checked. */
package org.verbena.hadoop.hdfs.settings;
