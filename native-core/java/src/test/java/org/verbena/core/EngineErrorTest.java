// SPDX-License-Identifier: Apache-2.0
package org.verbena.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import java.nio.ByteBuffer;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What users gave throws Errors, as it does when the heap is full. */
class EngineErrorTest {
    private static final int ID = 5;

    private static void send(VbnEngine from, VbnPeer to, int number) {
        from.send(to, ID, ByteBuffer.wrap(new byte[] {(byte) number}), null, null);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void an_engine_whose_log_throws_goes_on(boolean shared) throws Exception {
        AtomicInteger lines = new AtomicInteger();
        VbnConfig config = new VbnConfig().set("tl.enable", "self,shm").jobKey(Fixture.jobKey(1)).log(line -> {
            lines.incrementAndGet();
            throw new StackOverflowError("of a log");
        });
        try (VbnContext context = VbnContext.open(config)) {
            VbnEngine receiver = shared ? context.shareEngine("receiver") : context.startEngine("receiver");
            VbnEngine sender = context.startEngine("sender");
            CompletableFuture<Integer> second = new CompletableFuture<>();
            receiver.onMessage(ID, message -> {
                int number = message.header().get();
                if (number == 1) {
                    throw new StackOverflowError("of a handler");
                }
                second.complete(number);
            });
            VbnPeer peer = sender.connect(receiver.address(), null);
            send(sender, peer, 1);
            send(sender, peer, 2);
            assertEquals(2, Fixture.get(second));
            assertFalse(receiver.isClosed());
        }
        assertFalse(lines.get() == 0, "the log was told");
    }

    @Test
    void an_error_of_a_handler_is_said() throws Exception {
        try (Fixture fixture = new Fixture()) {
            VbnContext context = fixture.context("self,shm");
            VbnEngine receiver = context.startEngine("receiver");
            VbnEngine sender = context.startEngine("sender");
            receiver.onMessage(ID, message -> {
                throw new StackOverflowError("of a handler");
            });
            send(sender, sender.connect(receiver.address(), null), 1);
            String wanted = "message handler " + ID + " on engine receiver threw java.lang.StackOverflowError: of a handler";
            Fixture.await("a line", () -> fixture.log.stream().anyMatch(line -> line.contains(wanted)));
        }
    }
}
