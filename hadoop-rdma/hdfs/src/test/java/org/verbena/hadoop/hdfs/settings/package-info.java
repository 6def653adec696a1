// SPDX-License-Identifier: Apache-2.0
/** Tests of the settings. */
package org.verbena.hadoop.hdfs.settings;
