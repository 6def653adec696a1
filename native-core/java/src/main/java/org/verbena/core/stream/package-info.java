// SPDX-License-Identifier: Apache-2.0
/**
 * Byte streams between two engines, many per peer, over active messages of one id: what a host system expects of a socket.
 * {@link VbnStreams} opens and accepts them; {@link VbnStream} never blocks; {@link BlockingStream} waits with time-outs.
 */
package org.verbena.core.stream;
