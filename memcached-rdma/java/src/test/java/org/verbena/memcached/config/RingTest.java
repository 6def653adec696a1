// SPDX-License-Identifier: Apache-2.0
package org.verbena.memcached.config;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.charset.StandardCharsets;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** The C client's test compares its ring with libmemcached's; these numbers are those of the C client (vmc_server_of). */
class RingTest {
    private static long placesOf(String servers) {
        Ring ring = new Ring(new ClientConfig(servers).servers());
        long hash = 0xcbf29ce484222325L;
        for (int i = 0; i < 10_000; i++) {
            String key = "key:" + i * 7919L + "x".repeat(i % 60);
            hash = (hash ^ ring.find(key.getBytes(StandardCharsets.UTF_8))) * 0x100000001b3L;
        }
        return hash;
    }

    @Test
    void keys_have_the_servers_that_the_c_client_gives_them() {
        assertEquals(0x5cbd869a72b66496L, placesOf("10.0.1.1,10.0.1.2,10.0.1.3"));
        assertEquals(0x29522fe734c284e5L,
            placesOf("10.0.1.1:11211/?600,10.0.1.2:11212/?300,cache.example.org:11213/?200,10.0.1.4:11211/?350"));
        assertEquals(0x6f32bfbe86911b51L, placesOf(IntStream.range(0, 40)
            .mapToObj(i -> "host" + i + ":" + (11200 + i) + "/?" + (1 + i % 5)).collect(Collectors.joining(","))));
    }
}
