// SPDX-License-Identifier: Apache-2.0
package org.verbena.core.stream;

import org.verbena.core.VbnContext;
import org.verbena.core.VbnEngine;
import org.verbena.core.VbnException;

/** The same on engines that the threads drive which read and write. */
class SharedStreamTest extends StreamTest {
    @Override
    VbnEngine engine(VbnContext context, String name) throws VbnException {
        return context.shareEngine(name);
    }
}
