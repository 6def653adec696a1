// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hdfs.server.datanode;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;

/** One cluster for the tests of a class, each of which writes a block by our receiver. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
abstract class ReceiverSetUp {
    Path work;
    ReceiverCluster cluster;
    /** The test gets no further than the request. */
    boolean nobodyWrites;
    private long taken;

    @BeforeAll
    void start(@TempDir Path folder) throws Exception {
        work = folder;
        cluster = new ReceiverCluster(work, Map.of());
    }

    @AfterAll
    void stop() throws IOException {
        cluster.close();
    }

    @BeforeEach
    void count() {
        nobodyWrites = false;
        taken = XceiverBridge.blocksTaken();
    }

    @AfterEach
    void it_was_our_receiver() {
        assertTrue(XceiverBridge.blocksTaken() > taken || nobodyWrites);
    }
}
