// SPDX-License-Identifier: Apache-2.0
package org.verbena.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.ReadOnlyBufferException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(120)
class OneSidedTest {
    private static final int SIZE = 3 << 20;

    @ParameterizedTest
    @ValueSource(strings = {"self,shm", "tcp"})
    void get_and_put_move_bytes_and_respect_range_and_rights(String transports) throws Exception {
        try (Fixture fixture = new Fixture(); VbnEngine owner = fixture.context(transports).startEngine("owner")) {
            VbnContext context = fixture.context(transports);
            VbnContext ownerContext = fixture.first();
            try (VbnEngine engine = context.startEngine("user"); VbnMemory memory = ownerContext.allocate(SIZE);
                    VbnPeer peer = engine.connect(owner.address(), null);
                    VbnKey key = engine.importKey(peer, memory.exportKey(0, SIZE, true));
                    VbnKey readOnly = engine.importKey(peer, memory.exportKey(4096, 8192, false))) {
                ByteBuffer data = Fixture.pattern(SIZE, 5);
                Fixture.Wait put = new Fixture.Wait();
                engine.put(key, 0, data, put);
                assertEquals(SIZE, put.get());
                assertEquals(data, memory.buffer());

                ByteBuffer part = ByteBuffer.allocateDirect(1000);
                Fixture.Wait get = new Fixture.Wait();
                engine.get(readOnly, 100, part, get);
                assertEquals(1000, get.get());
                assertEquals(data.slice(4196, 1000), part);

                Fixture.Wait beyond = new Fixture.Wait();
                engine.get(readOnly, 8000, part, beyond);
                assertEquals(VbnStatus.RANGE, beyond.failure().kind());
                Fixture.Wait forbidden = new Fixture.Wait();
                engine.put(readOnly, 0, part, forbidden);
                assertEquals(VbnStatus.ACCESS, forbidden.failure().kind());
            }
        }
    }


    @Test
    void a_mapped_key_shows_the_owners_bytes_and_outlives_everything() throws Exception {
        ByteBuffer view;
        try (Fixture fixture = new Fixture(); VbnEngine owner = fixture.context("self,shm").startEngine("owner")) {
            VbnContext context = fixture.context("self,shm");
            VbnEngine engine = context.startEngine("user");
            VbnMemory memory = fixture.first().allocate(SIZE);
            memory.buffer().put(0, Fixture.pattern(SIZE, 9), 0, SIZE);
            VbnPeer peer = engine.connect(owner.address(), null);
            VbnKey key = engine.importKey(peer, memory.exportKey(4096, 100_000, false));
            Fixture.Wait get = new Fixture.Wait();
            engine.get(key, 0, ByteBuffer.allocateDirect(10), get);
            get.get();
            view = key.mapped();
            assertNotNull(view);
            assertEquals(100_000, view.capacity());
            memory.buffer().put(4096, (byte) 77);
            assertEquals(77, view.get(0));
            assertThrows(ReadOnlyBufferException.class, () -> key.mapped().put(0, (byte) 1));
            key.close();
            assertNull(key.mapped());
            peer.close();
            engine.close();
            memory.close();
        }
        assertEquals(77, view.get(0));
        assertEquals(Fixture.pattern(SIZE, 9).get(4096 + 99_999), view.get(99_999));
    }

    @ParameterizedTest
    @ValueSource(strings = {"self,shm", "tcp"})
    void a_key_of_closed_memory_is_stale(String transports) throws Exception {
        try (Fixture fixture = new Fixture(); VbnEngine owner = fixture.context(transports).startEngine("owner");
                VbnEngine engine = fixture.context(transports).startEngine("user")) {
            VbnMemory memory = fixture.first().allocate(4096);
            byte[] blob = memory.exportKey(0, 4096, false);
            memory.close();
            assertTrue(memory.isClosed());
            assertThrows(IllegalStateException.class, memory::buffer);
            assertEquals(VbnStatus.STALE, assertThrows(VbnException.class, () -> memory.exportKey(0, 1, false)).kind());
            try (VbnPeer peer = engine.connect(owner.address(), null); VbnKey key = engine.importKey(peer, blob)) {
                Fixture.Wait get = new Fixture.Wait();
                engine.get(key, 0, ByteBuffer.allocateDirect(100), get);
                assertEquals(VbnStatus.STALE, get.failure().kind());
            }
        }
    }

    @Test
    void closed_keys_and_peers_are_stale_and_forged_blobs_are_refused() throws Exception {
        try (Fixture fixture = new Fixture(); VbnEngine owner = fixture.context("self,shm").startEngine("owner");
                VbnEngine engine = fixture.context("self,shm").startEngine("user");
                VbnMemory memory = fixture.first().allocate(4096)) {
            byte[] blob = memory.exportKey(0, 4096, false);
            VbnPeer peer = engine.connect(owner.address(), null);
            VbnKey key = engine.importKey(peer, blob);
            key.close();
            key.close();
            Fixture.Wait get = new Fixture.Wait();
            engine.get(key, 0, ByteBuffer.allocateDirect(100), get);
            assertEquals(VbnStatus.STALE, get.failure().kind());
            assertThrows(VbnException.class, () -> engine.importKey(peer, new byte[] {1, 2, 3}));
            assertThrows(VbnException.class, () -> engine.importKey(peer, new byte[4000]));
            peer.close();
            peer.close();
            Fixture.Wait send = new Fixture.Wait();
            engine.send(peer, 1, null, null, send);
            assertEquals(VbnStatus.STALE, send.failure().kind());
            assertEquals(VbnStatus.STALE,
                assertThrows(VbnException.class, () -> engine.importKey(peer, blob)).kind());
        }
    }

    @Test
    void buffers_stay_readable_after_their_memory_is_closed() throws Exception {
        try (Fixture fixture = new Fixture()) {
            VbnContext context = fixture.context("self");
            VbnMemory memory = context.allocate(1 << 20);
            ByteBuffer view = memory.slice(1000, 10);
            view.put(3, (byte) 5);
            memory.close();
            memory.close();
            context.close();
            System.gc();
            assertEquals(5, view.get(3));
            assertFalse(fixture.log.stream().anyMatch(line -> line.contains("leak")), fixture.log.toString());
        }
    }

    @Test
    void ranges_are_checked() throws Exception {
        try (Fixture fixture = new Fixture(); VbnMemory memory = fixture.context("self").allocate(8192)) {
            assertEquals(8192, memory.size());
            assertThrows(IndexOutOfBoundsException.class, () -> memory.slice(8000, 200));
            assertThrows(IndexOutOfBoundsException.class, () -> memory.slice(-1, 2));
            assertThrows(VbnException.class, () -> memory.exportKey(8000, 200, false));
            assertThrows(VbnException.class, () -> memory.exportKey(-8, 4, false));
            assertThrows(VbnException.class, () -> fixture.first().allocate(0));
        }
    }
}
