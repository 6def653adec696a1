// SPDX-License-Identifier: Apache-2.0
/** Tests of the byte streams. */
package org.verbena.core.stream;
