// SPDX-License-Identifier: Apache-2.0
package org.verbena.core;

/** Takes the active messages of one id. Runs on the engine's thread and must not block. */
@FunctionalInterface
public interface MessageHandler {
    /**
     * A message has arrived. The message object and its buffers are valid during the call only; the peer and the
     * {@link RemoteData} may be kept.
     *
     * @param message the message
     */
    void handle(Message message);
}
