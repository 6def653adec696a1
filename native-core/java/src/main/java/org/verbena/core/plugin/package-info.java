// SPDX-License-Identifier: Apache-2.0
/**
 * What the plugins for Spark and Hadoop share and the core itself does not need: buffers, limits, settings, keys. No class
 * here names a logging library or a class of the host system.
 */
package org.verbena.core.plugin;
