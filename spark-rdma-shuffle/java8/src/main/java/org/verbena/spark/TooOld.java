// SPDX-License-Identifier: Apache-2.0
// The line by which users of an old Java learn why nothing is faster.
package org.verbena.spark;

import org.slf4j.LoggerFactory;

/** Says it in the log. */
final class TooOld {
    private TooOld() {
    }

    static String reason() {
        return "it needs Java 17, and this is Java " + System.getProperty("java.version");
    }

    static void say() {
        LoggerFactory.getLogger(TooOld.class).warn("Verbena stands aside, Spark's own shuffle is used: {}", reason());
    }
}
