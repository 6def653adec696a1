// SPDX-License-Identifier: Apache-2.0
/** The shared path of mode hhh-l: who owns which volume there, and how a living DataNode adopts a dead one's. */
package org.verbena.hadoop.hdfs.shared;
