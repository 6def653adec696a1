// SPDX-License-Identifier: Apache-2.0
// Messages of a fetch survive the way, and malformed ones are refused.
package org.verbena.spark.read;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.ByteBuffer;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.verbena.core.VbnException;

class WireTest {
    @Test
    void aRequestIsReadBack() throws VbnException {
        String[] names = {"shuffle_0_1_2", "broadcast_3_piece0", ""};
        assertArrayEquals(names, Wire.blocks(Wire.blocks(names, ByteBuffer.allocate(Wire.bytes(names)))));
        assertEquals(77L << 40, Wire.request(Wire.requestHeader(77L << 40)));
        assertEquals(new Wire.Reply(5, 6, 7), Wire.reply(Wire.replyHeader(5, 6, 7)));
    }

    @Test
    void malformedMessagesAreRefused() {
        assertThrows(VbnException.class, () -> Wire.request(ByteBuffer.allocate(15)));
        assertThrows(VbnException.class, () -> Wire.request(ByteBuffer.allocate(16)));
        assertThrows(VbnException.class, () -> Wire.reply(ByteBuffer.allocate(21)));
        assertThrows(VbnException.class, () -> Wire.blocks(ByteBuffer.wrap(new byte[] {5, 0, 1})));
        assertThrows(VbnException.class, () -> Wire.blocks(ByteBuffer.wrap(new byte[] {5})));
        assertThrows(VbnException.class, () -> Wire.blocks(ByteBuffer.wrap(new byte[2 * Wire.MAX_BLOCKS + 2])));
    }

    @Test
    void arbitraryBytesGiveNamesOrAnErrorAndNothingElse() {
        Random random = new Random(42);
        for (int i = 0; i < 10_000; i++) {
            byte[] bytes = new byte[random.nextInt(64)];
            random.nextBytes(bytes);
            for (int j = 1; j < bytes.length; j += 2) {
                bytes[j] = 0;
            }
            try {
                int sum = 0;
                for (String name : Wire.blocks(ByteBuffer.wrap(bytes))) {
                    sum += 2 + name.length();
                }
                assertEquals(bytes.length, sum);
            } catch (VbnException e) {
                assertEquals(org.verbena.core.VbnStatus.PROTOCOL, e.kind());
            }
        }
    }
}
