// SPDX-License-Identifier: Apache-2.0
package org.verbena.netty;

import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/** Ends a JVM that hangs, with the stacks of its threads: the tests have one, and so has each child. */
public final class TestWatch implements BeforeAllCallback {
    /** Below the time that tests/java/run.py and surefire give the JVM. */
    static final long SECONDS = 1500;
    static final int EXIT_HUNG = 3;

    private static boolean started;

    @Override
    public void beforeAll(ExtensionContext context) {
        start(SECONDS);
    }

    static synchronized void start(long seconds) {
        if (!started) {
            started = true;
            Thread thread = new Thread(() -> watch(seconds), "test-watch");
            thread.setDaemon(true);
            thread.start();
        }
    }

    private static void watch(long seconds) {
        try {
            TimeUnit.SECONDS.sleep(seconds);
        } catch (InterruptedException e) {
            return;
        }
        System.err.println("hung: this JVM still runs after " + seconds + " s\n" + stacks());
        System.err.flush();
        Runtime.getRuntime().halt(EXIT_HUNG);
    }

    static String stacks() {
        StringBuilder text = new StringBuilder();
        for (Map.Entry<Thread, StackTraceElement[]> one : Thread.getAllStackTraces().entrySet()) {
            text.append(one.getKey()).append(' ').append(one.getKey().getState()).append('\n');
            for (StackTraceElement frame : one.getValue()) {
                text.append("    at ").append(frame).append('\n');
            }
        }
        return text.toString();
    }
}
