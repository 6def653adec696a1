// SPDX-License-Identifier: Apache-2.0
package org.verbena.core;

import java.lang.invoke.VarHandle;

/**
 * Says whether a consumer sleeps, so that producers know when to wake it. No wake-up is lost: the consumer raises the
 * flag and then looks for work once more, a producer publishes its work and then looks at the flag; one of the two
 * sees the other.
 */
final class SleepFlag {
    private volatile boolean raised;

    /** Consumer: after this, look for work once more, and only then sleep. */
    void raise() {
        raised = true;
    }

    /** Consumer: awake again. */
    void lower() {
        raised = false;
    }

    /** Producer, after publishing: true when the consumer has to be woken. */
    boolean mustWake() {
        // Full fence: the work must be visible before the flag is read; pairs with the volatile write in raise().
        VarHandle.fullFence();
        if (!raised) {
            return false;
        }
        raised = false;
        return true;
    }
}
