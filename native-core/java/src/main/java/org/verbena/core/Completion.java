// SPDX-License-Identifier: Apache-2.0
package org.verbena.core;

/**
 * Told once that an operation has ended. Runs on the engine's thread and must not block; when the engine is already
 * closed it runs on the thread that issued the operation.
 */
@FunctionalInterface
public interface Completion {
    /**
     * The operation has ended, its buffers belong to the caller again.
     *
     * @param error null when it succeeded
     * @param length bytes moved; 0 on failure
     */
    void complete(VbnException error, long length);
}
