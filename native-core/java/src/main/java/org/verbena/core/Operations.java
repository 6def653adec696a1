// SPDX-License-Identifier: Apache-2.0
package org.verbena.core;

import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.function.BooleanSupplier;

/** An engine's operations on their way to native code, there, and completed. Engine thread, unless a method says otherwise. */
final class Operations {
    private static final int SPARE = 1024;

    private final VbnContext context;
    private final Page page;
    private final BooleanSupplier mine;
    private final Callbacks callbacks;
    private final InFlight inFlight = new InFlight();
    /** Those that found the ring or the table full, in order. */
    private final ArrayDeque<Operation> pending = new ArrayDeque<>();
    private final ArrayDeque<Operation> spare = new ArrayDeque<>();

    /** The supplier says whether it is called on the engine's thread. */
    Operations(VbnContext context, Page page, BooleanSupplier mine, Callbacks callbacks) {
        this.context = context;
        this.page = page;
        this.mine = mine;
        this.callbacks = callbacks;
    }

    /** Any thread: an operation object, a used one on the engine's thread. */
    Operation make(int kind, long handle, Completion done) {
        Operation op = mine.getAsBoolean() ? spare.pollLast() : null;
        return (op == null ? new Operation() : op).set(kind, handle, done);
    }

    /** True while some wait for native code to take earlier ones. */
    boolean waits() {
        return !pending.isEmpty();
    }

    void issue(Operation op) {
        if (!pending.isEmpty() || !write(op)) {
            pending.add(op);
        }
    }

    void issueWaiting() {
        while (!pending.isEmpty() && write(pending.peek())) {
            pending.remove();
        }
    }

    private boolean write(Operation op) {
        if (!op.hasCompletion()) {
            if (!page.submit(op, 0)) {
                return false;
            }
            recycle(op);
            return true;
        }
        long token = inFlight.add(op);
        if (token == 0) {
            return false;
        }
        if (!page.submit(op, token)) {
            inFlight.remove(token);
            return false;
        }
        return true;
    }

    /** Native code has completed one. */
    void completed(int index) {
        Operation op = inFlight.remove(page.token(index));
        if (op == null) {
            context.log(VbnLog.ERROR, "completion of an operation that does not exist: token " + page.token(index));
            return;
        }
        int status = page.status(index);
        finish(op, status >= 0 ? null : failure(VbnStatus.of(status), op.describe(), page.text(index)),
            status >= 0 ? page.length(index) : 0);
    }

    /** What native code said of a failure. */
    static VbnException failure(VbnStatus status, String what, byte[] text) {
        String cause = text.length == 0 ? status.text() : new String(text, StandardCharsets.UTF_8);
        return new VbnException(status, what + ": " + cause);
    }

    /** Completes one that native code does not have. Engine thread, or any after the engine has ended. */
    void fail(Operation op, VbnStatus status, String text) {
        finish(op, new VbnException(status, op.describe() + ": " + text), 0);
    }

    /** Native code has ended: completes all. */
    void failAll(VbnStatus status, String text) {
        for (long token = 1; token <= inFlight.highest(); token++) {
            Operation op = inFlight.remove(token);
            if (op != null) {
                fail(op, status, text);
            }
        }
        while (!pending.isEmpty()) {
            fail(pending.poll(), status, text);
        }
    }

    private void finish(Operation op, VbnException error, long length) {
        Completion done = op.done;
        if (mine.getAsBoolean()) {
            recycle(op);
        }
        if (done != null) {
            try {
                done.complete(error, length);
            } catch (Throwable e) { // a callback must not end the engine
                callbacks.failed("completion", e);
            }
        }
    }

    private void recycle(Operation op) {
        op.clear();
        if (spare.size() < SPARE) {
            spare.addLast(op);
        }
    }
}
