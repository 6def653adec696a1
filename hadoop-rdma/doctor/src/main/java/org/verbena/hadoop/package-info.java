// SPDX-License-Identifier: Apache-2.0
/** Verbena for Hadoop as a whole. */
package org.verbena.hadoop;
