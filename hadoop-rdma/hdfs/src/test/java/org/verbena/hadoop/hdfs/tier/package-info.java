// SPDX-License-Identifier: Apache-2.0
/** Tests of the classes that settings name for the modes. */
package org.verbena.hadoop.hdfs.tier;
