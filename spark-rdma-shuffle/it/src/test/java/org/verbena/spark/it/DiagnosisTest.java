// SPDX-License-Identifier: Apache-2.0
// What Spark's diagnosis of damaged blocks says about map outputs in slabs.
package org.verbena.spark.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.util.zip.Adler32;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.network.shuffle.checksum.Cause;
import org.apache.spark.storage.ShuffleBlockId;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.verbena.spark.store.MapIndex;

@Timeout(120)
class DiagnosisTest {
    private static final long SUM = Application.RECORDS * (Application.RECORDS - 1) / 2;
    private static final int PARTITION = 1;

    @Test
    void sparkIsToldWhetherMemoryOrTheNetworkDamagedABlockWhereMapOutputsHaveChecksums() throws Exception {
        try (Application application = new Application("spark.shuffle.checksum.enabled=true")) {
            JavaPairRDD<Integer, Iterable<Integer>> groups = application.pairs().groupByKey(3);
            assertEquals(SUM, Application.sum(groups));
            ByteBuffer piece = index(application).pieces(PARTITION, PARTITION + 1)[0];
            long sum = adler(index(application));
            assertEquals(Cause.CHECKSUM_VERIFY_PASS, diagnosis(sum));
            assertEquals(Cause.NETWORK_ISSUE, diagnosis(sum + 1));
            piece.put(piece.limit() - 1, (byte) (piece.get(piece.limit() - 1) ^ 1));
            assertEquals(Cause.DISK_ISSUE, diagnosis(sum));
            long written = application.slabs().writtenBytes();
            assertEquals(SUM, Application.sum(groups));
            assertTrue(application.slabs().writtenBytes() > written, "a reader got the damaged block");
        }
    }

    @Test
    void sparkIsToldThatTheCauseIsNotKnownWhereMapOutputsHaveNoChecksums() throws Exception {
        try (Application application = new Application()) {
            assertEquals(SUM, Application.sum(application.pairs().groupByKey(3)));
            assertEquals(Cause.UNKNOWN_ISSUE, diagnosis(adler(index(application))));
        }
    }

    /** As the executor that has the output is asked by a reader whose bytes have this sum. */
    private static Cause diagnosis(long readersSum) {
        return SparkEnv.get().blockManager().diagnoseShuffleBlockCorruption(
            new ShuffleBlockId(0, 0, PARTITION), readersSum, "ADLER32");
    }

    /** Of the first map task of the application. */
    private static MapIndex index(Application application) {
        return application.slabs().find(0, 0).index();
    }

    private static long adler(MapIndex index) throws Exception {
        Adler32 sum = new Adler32();
        for (ByteBuffer piece : index.pieces(PARTITION, PARTITION + 1)) {
            sum.update(piece);
        }
        return sum.getValue();
    }
}
