// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.net;

/** A socket whose stream can have the engine of another stream, so that one thread waits for both in one place. */
public interface CompanionSocket {
    /**
     * Takes the engine of a stream that this process has accepted, if the socket becomes a stream. Before it is connected.
     *
     * @param other the stream
     */
    void accompany(CoreSocketChannel other);
}
