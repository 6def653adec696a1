// SPDX-License-Identifier: Apache-2.0
/**
 * The Java skin of Verbena's native core: a {@link org.verbena.core.VbnContext} holds settings and memory, a
 * {@link org.verbena.core.VbnEngine} is one thread that sends active messages and reads and writes the memory of peers.
 */
package org.verbena.core;
