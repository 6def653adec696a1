// SPDX-License-Identifier: Apache-2.0
/** Tests of the shared path: ownership, adoption, faults in words. */
package org.verbena.hadoop.hdfs.shared;
