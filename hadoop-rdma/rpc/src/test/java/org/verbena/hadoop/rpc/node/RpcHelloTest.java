// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.rpc.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Random;
import org.apache.hadoop.conf.Configuration;
import org.junit.jupiter.api.Test;
import org.verbena.core.greeting.Greeting;

class RpcHelloTest {
    private static RpcHello hello() {
        byte[] token = new byte[Greeting.TOKEN_BYTES];
        new Random(1).nextBytes(token);
        return new RpcHello(token, 0xfffe, 8020);
    }

    @Test
    void what_is_written_is_read() throws IOException {
        assertEquals(hello(), RpcHello.decode(ByteBuffer.wrap(hello().encode())));
    }

    @Test
    void other_lengths_and_versions_are_refused_and_other_bytes_read_as_others() throws IOException {
        byte[] good = hello().encode();
        for (int length = 0; length < good.length; length++) {
            ByteBuffer cut = ByteBuffer.wrap(good, 0, length).slice();
            assertThrows(IOException.class, () -> RpcHello.decode(cut), "length " + length);
        }
        assertThrows(IOException.class, () -> RpcHello.decode(ByteBuffer.allocate(1024).put(good).rewind()));
        for (int at = 0; at < good.length; at++) {
            byte[] changed = good.clone();
            changed[at] ^= 1;
            if (at == 0) {
                IOException e = assertThrows(IOException.class, () -> RpcHello.decode(ByteBuffer.wrap(changed)));
                assertTrue(e.getMessage().contains("use the same jar for clients and servers"), e.getMessage());
            } else {
                assertTrue(!RpcHello.decode(ByteBuffer.wrap(changed)).equals(hello()), "byte " + at);
            }
        }
    }

    @Test
    void settings_are_checked_and_equal_ones_are_one() {
        Configuration conf = new Configuration(false);
        assertEquals(RpcConf.of(conf), RpcConf.of(new Configuration(false)));
        assertEquals(32, RpcConf.of(conf).firstCalls());
        IOException none = assertThrows(IOException.class, () -> RpcConf.of(conf).coreConfig());
        assertTrue(none.getMessage().contains("set verbena.rpc.key.file"), none.getMessage());
        conf.set("verbena.rpc.first.calls", "0");
        assertThrows(IllegalArgumentException.class, () -> RpcConf.of(conf));
    }
}
