// SPDX-License-Identifier: Apache-2.0
package org.verbena.core;

import java.nio.ByteBuffer;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * What each of several class loaders does in one process: answers with what it gets, and asks the engine of an address; by
 * types of the JDK, which all of them share.
 */
public final class LoaderTalk implements Supplier<byte[]>, Function<byte[], String>, AutoCloseable {
    private final VbnContext context;
    private final VbnEngine engine;
    private final BlockingQueue<ByteBuffer> replies = new ArrayBlockingQueue<>(100);

    public LoaderTalk(String transports, Consumer<String> log) throws VbnException {
        context = VbnContext.open(new VbnConfig().set("tl.enable", transports).jobKey(Fixture.jobKey(1))
            .log(line -> log.accept(line.text())));
        engine = context.startEngine("talk");
        Fixture.serveEcho(context, engine);
        Fixture.onReplies(engine, replies::add);
    }

    /** The engine's address. */
    @Override
    public byte[] get() {
        return engine.address();
    }

    /** Sends a large and a small message; the sizes that came back whole. */
    @Override
    public String apply(byte[] address) {
        StringBuilder sizes = new StringBuilder();
        try {
            VbnPeer peer = engine.connect(address, (lost, cause) -> sizes.append(cause.getMessage())); // closed with the engine
            for (int size : new int[] {5_000_003, 100_000}) {
                ByteBuffer data = Fixture.pattern(size, 3);
                engine.send(peer, Fixture.ECHO, null, new ByteBuffer[] {data}, null);
                boolean same = data.equals(replies.poll(Fixture.TIMEOUT_SECONDS, TimeUnit.SECONDS));
                sizes.append(same ? size : "damaged or late").append(' ');
            }
        } catch (VbnException e) {
            return e.getMessage();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        return sizes.toString();
    }

    @Override
    public void close() {
        engine.close();
        context.close();
    }
}
