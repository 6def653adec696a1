// SPDX-License-Identifier: Apache-2.0
package org.verbena.core.stream;

import java.nio.ByteBuffer;

/** Takes the streams that peers open to one service. Runs on the engine's thread and must not block. */
@FunctionalInterface
public interface StreamService {
    /**
     * A peer has opened a stream.
     *
     * @param stream the stream, the service's own when it is accepted: to be closed
     * @param hello what the opener gave, valid during the call
     * @return false to refuse it
     */
    boolean accept(VbnStream stream, ByteBuffer hello);
}
