// SPDX-License-Identifier: Apache-2.0
/** Streams of the core behind the classes of java.nio that Hadoop's own streams use. */
package org.verbena.hadoop.net;
