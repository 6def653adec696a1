// SPDX-License-Identifier: Apache-2.0
/** Tests of the memory tier's folder, size and books. */
package org.verbena.hadoop.hdfs.memory;
