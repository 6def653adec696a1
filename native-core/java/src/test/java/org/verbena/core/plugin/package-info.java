// SPDX-License-Identifier: Apache-2.0
/** Tests of what the plugins share. */
package org.verbena.core.plugin;
