// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.net;

import java.io.InputStream;

/** Makes inputs for tests of other packages. */
public final class Peeked {
    private Peeked() {
    }

    /** Of any input. */
    public static PeekedInput of(InputStream in) {
        return new PeekedInput(in);
    }
}
