// SPDX-License-Identifier: Apache-2.0
// What the driver decides holds for the tasks, also where they run in its process.
package org.verbena.spark.it;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.OutputStream;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.spark.HashPartitioner;
import org.apache.spark.SparkEnv;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import org.apache.spark.storage.ShuffleBlockId;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import scala.Tuple2;

@Timeout(120)
class LocalModeTest {
    private static final int BYTES = 1 << 20;

    /** Whether a task's map output would be compressed. */
    private static boolean compresses() {
        OutputStream out = OutputStream.nullOutputStream();
        return SparkEnv.get().serializerManager().wrapStream(new ShuffleBlockId(0, 0, 0), out) != out;
    }

    private static long written(Application application) throws Exception {
        AtomicLong written = new AtomicLong();
        application.context().sc().addSparkListener(new SparkListener() {
            @Override
            public void onTaskEnd(SparkListenerTaskEnd end) {
                written.addAndGet(end.taskMetrics().shuffleWriteMetrics().bytesWritten());
            }
        });
        assertEquals(1, application.context().parallelize(List.of(0), 1).mapToPair(i -> new Tuple2<>(i, new byte[BYTES]))
            .partitionBy(new HashPartitioner(2)).count());
        application.context().sc().listenerBus().waitUntilEmpty();
        return written.get();
    }

    @Test
    void compressionThatTheDriverTurnsOffIsOff() throws Exception {
        try (Application application = new Application()) {
            assertEquals("false", SparkEnv.get().conf().get("spark.shuffle.compress"));
            assertEquals(BYTES, written(application) / BYTES * BYTES);
            assertEquals(false, compresses());
        }
    }

    @Test
    void compressionThatTheUserWantsStays() throws Exception {
        try (Application application = new Application("spark.verbena.compress=as-spark")) {
            assertEquals(0, written(application) / BYTES);
            assertEquals(true, compresses());
        }
    }
}
