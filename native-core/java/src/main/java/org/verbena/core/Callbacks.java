// SPDX-License-Identifier: Apache-2.0
package org.verbena.core;

/** Runs what users gave to an engine: nothing that it throws ends the engine; the log says it. Thread safe. */
final class Callbacks {
    private final VbnContext context;
    private final String engine;

    Callbacks(VbnContext context, String engine) {
        this.context = context;
        this.engine = engine;
    }

    void run(String what, Runnable callback) {
        try {
            callback.run();
        } catch (Throwable e) {
            failed(what, e);
        }
    }

    void failed(String what, Throwable e) {
        StackTraceElement[] trace = e.getStackTrace();
        context.log(VbnLog.ERROR, what + " on engine " + engine + " threw " + e
            + (trace.length > 0 ? " at " + trace[0] : ""));
    }
}
