// SPDX-License-Identifier: Apache-2.0
package org.verbena.core.stream;

/**
 * Told when a stream may have become readable or writable, was accepted, ended or failed: the user tries again what gave 0
 * before. Runs on the engine's thread, or on one that uses the stream; must not block.
 */
@FunctionalInterface
public interface StreamListener {
    /**
     * Something has changed.
     *
     * @param stream the stream
     */
    void changed(VbnStream stream);
}
