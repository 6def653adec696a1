// SPDX-License-Identifier: Apache-2.0
package org.verbena.ohb.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Set;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

class ClassTagsTest {
    private static final List<String> ROWS = List.of("groupby maps=2 pairs=50 size=20 reducers=2",
        "sortby maps=2 pairs=50 size=20 reducers=2", "tiny maps=2 pairs=50 size=20 reducers=2",
        "reducebykey maps=2 pairs=50 keys=9 reducers=2", "terasort maps=2 pairs=50 reducers=2",
        "pagerank pages=20 links=3 iterations=2 reducers=2");
    private static SparkSession spark;

    @BeforeAll
    static void start() {
        spark = SparkSession.builder().master("local[1]").config("spark.ui.enabled", false)
            .config("spark.driver.bindAddress", "127.0.0.1").config("spark.driver.host", "127.0.0.1")
            .config("spark.shuffle.manager", NotingManager.class.getName()).getOrCreate();
    }

    @AfterAll
    static void stop() {
        spark.stop();
    }

    private static String run(String row, String tags) {
        NotingManager.SERIALIZERS.clear();
        Job job = SparkJobs.make(spark, new Params(("job=" + row + tags).split(" "), 0));
        job.prepare();
        String result = job.run(3).hex();
        job.release();
        return result;
    }

    @Test
    void withTagsOfScalaEachShuffleIsOfKryoAndTheResultIsTheSame() {
        for (String row : ROWS) {
            String java = run(row, "");
            assertEquals(Set.of("JavaSerializer"), NotingManager.SERIALIZERS, row);
            String scala = run(row, " tags=scala");
            assertEquals(Set.of("KryoSerializer"), NotingManager.SERIALIZERS, row);
            assertEquals(java, scala, row);
        }
    }

    @Test
    void otherTagsAreRefusedWithWhatIsAllowed() {
        String said = assertThrows(IllegalArgumentException.class, () -> run(ROWS.get(0), " tags=kotlin")).getMessage();
        assertTrue(said.contains("tags=kotlin must be scala or java"), said);
    }
}
