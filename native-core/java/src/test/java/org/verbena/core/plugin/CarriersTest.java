// SPDX-License-Identifier: Apache-2.0
package org.verbena.core.plugin;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.verbena.core.VbnConfig;
import org.verbena.core.VbnContext;
import org.verbena.core.VbnEngine;

class CarriersTest {
    private static final List<String> RDMA = List.of("self", "shm", "rc", "tcp");

    @Test
    void the_interface_and_the_device_are_named() {
        assertEquals("self,tcp from 10.0.0.7", Carriers.words(List.of("self", "tcp"), "10.0.0.7", "", List.of("mlx5_0")));
        assertEquals("self,shm,rc,tcp from 10.0.0.7 and mlx5_0", Carriers.words(RDMA, "10.0.0.7", "", List.of("mlx5_0")));
        List<String> two = List.of("mlx5_0", "mlx5_1");
        assertEquals("self,shm,rc,tcp from ib0 and mlx5_1:1", Carriers.words(RDMA, "ib0", "mlx5_1:1", two));
        assertTrue(Carriers.words(RDMA, "ib0", "", two).endsWith("the first active port of mlx5_0, mlx5_1"));
    }

    @Test
    void what_an_engine_has_not_opened_is_not_named() throws Exception {
        VbnConfig config = new VbnConfig().set("tl.enable", "self,tcp").set("tl.tcp.interface", "127.0.0.1").jobKey(new byte[32]);
        try (VbnContext context = VbnContext.open(config); VbnEngine engine = context.startEngine("one")) {
            assertEquals("self,tcp from 127.0.0.1", Carriers.words(engine.transports(), context));
        }
    }
}
