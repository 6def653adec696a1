// SPDX-License-Identifier: Apache-2.0
package org.verbena.core;

/** Hands log lines to the JVM's {@link System.Logger}, which SLF4J, Log4j and java.util.logging can serve. */
final class SystemLog implements VbnLog {
    static final SystemLog INSTANCE = new SystemLog();
    private static final System.Logger LOGGER = System.getLogger("org.verbena");

    private SystemLog() {
    }

    @Override
    public void line(Line line) {
        LOGGER.log(switch (line.level()) {
            case ERROR -> System.Logger.Level.ERROR;
            case WARN -> System.Logger.Level.WARNING;
            case INFO -> System.Logger.Level.INFO;
            default -> System.Logger.Level.DEBUG;
        }, line.text());
    }
}
