// SPDX-License-Identifier: Apache-2.0
/** Tests of the Java API against the real native library. */
package org.verbena.core;
