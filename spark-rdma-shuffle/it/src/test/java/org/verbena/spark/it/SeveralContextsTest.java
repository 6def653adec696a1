// SPDX-License-Identifier: Apache-2.0
// Several applications one after the other in one JVM: each starts empty and leaves nothing.
package org.verbena.spark.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.spark.SparkEnv;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.verbena.spark.ShuffleEngine;

@Timeout(120)
class SeveralContextsTest {
    private static Path shared(String application) throws IOException {
        return Path.of("/dev/shm", "verbena-" + Files.getAttribute(Path.of("/proc/self"), "unix:uid"), application);
    }

    private static boolean engineRuns() {
        return Thread.getAllStackTraces().keySet().stream().anyMatch(t -> t.getName().startsWith("verbena-engine"));
    }

    @Test
    void anApplicationStartsEmptyAndClosesAllItsNativeObjects() throws IOException {
        for (int i = 0; i < 3; i++) {
            ShuffleEngine engine;
            Path directory;
            try (Application application = new Application()) {
                engine = application.engine();
                directory = shared(application.context().sc().applicationId());
                assertNull(application.slabs().find(0, 0));
                assertEquals(10, application.pairs().groupByKey(4).count());
                assertTrue(application.slabs().usedBytes() > 0);
                assertTrue(Files.isDirectory(directory));
                assertTrue(engineRuns());
            }
            assertNull(SparkEnv.get());
            assertEquals(0, engine.leaks());
            assertFalse(engineRuns());
            assertFalse(Files.exists(directory), directory + " is left");
        }
    }

    @Test
    void anApplicationThatIsStoppedWhileItShufflesClosesAllItsNativeObjects() throws Exception {
        ShuffleEngine engine;
        Path directory;
        try (Application application = new Application()) {
            engine = application.engine();
            directory = shared(application.context().sc().applicationId());
            assertEquals(10, application.pairs().groupByKey(4).count());
            application.pairs().groupByKey(4).mapValues(group -> {
                Thread.sleep(1000);
                return group;
            }).countAsync();
        }
        assertEquals(0, engine.leaks());
        assertFalse(Files.exists(directory), directory + " is left");
    }
}
