// SPDX-License-Identifier: Apache-2.0
package org.verbena.core;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** A call that another thread waits for while the engine's thread makes it. */
final class EngineCall<T> implements Runnable {
    private static final long TIMEOUT_SECONDS = 30;

    private final EngineLoop loop;
    private final VbnEngine.Call<T> call;
    private final CompletableFuture<T> result = new CompletableFuture<>();

    EngineCall(EngineLoop loop, VbnEngine.Call<T> call) {
        this.loop = loop;
        this.call = call;
    }

    @Override
    public void run() {
        try {
            result.complete(call.run(loop.worker()));
        } catch (VbnException | RuntimeException e) {
            result.completeExceptionally(e);
        }
    }

    /** The engine is closed and will not make the call. */
    void refuse() {
        result.completeExceptionally(new VbnException(VbnStatus.CLOSED, "the engine is closed"));
    }

    T await() throws VbnException {
        try {
            return result.get(TIMEOUT_SECONDS, TimeUnit.SECONDS);
        } catch (ExecutionException e) {
            if (e.getCause() instanceof VbnException failure) {
                throw new VbnException(failure.kind(), failure.text(), failure);
            }
            throw new IllegalStateException(e.getCause());
        } catch (TimeoutException e) {
            throw new VbnException(VbnStatus.TIMEOUT, "the engine did not answer within " + TIMEOUT_SECONDS
                + " s: a callback on thread " + loop.thread().getName() + " blocks it");
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new VbnException(VbnStatus.CLOSED, "interrupted while waiting for the engine");
        }
    }
}
