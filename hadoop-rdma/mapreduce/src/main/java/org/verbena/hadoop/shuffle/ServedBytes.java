// SPDX-License-Identifier: Apache-2.0
// What one job was served.
package org.verbena.hadoop.shuffle;

import java.util.concurrent.atomic.LongAdder;

/** Thread safe. */
final class ServedBytes {
    private final LongAdder bytes = new LongAdder();
    private final LongAdder segments = new LongAdder();

    void count(int rangesOfRequest, long bytesOfRequest) {
        segments.add(rangesOfRequest);
        bytes.add(bytesOfRequest);
    }

    @Override
    public String toString() {
        return bytes.sum() + " bytes of " + segments.sum() + " segments";
    }
}
