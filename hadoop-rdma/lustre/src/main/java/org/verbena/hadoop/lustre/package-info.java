// SPDX-License-Identifier: Apache-2.0
/** Hadoop's file system {@code lustre:} over a directory that all hosts share by POSIX. */
package org.verbena.hadoop.lustre;
