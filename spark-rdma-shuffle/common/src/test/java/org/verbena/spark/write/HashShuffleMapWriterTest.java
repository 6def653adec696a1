// SPDX-License-Identifier: Apache-2.0
package org.verbena.spark.write;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.apache.spark.SparkConf;
import org.apache.spark.serializer.JavaSerializer;
import org.apache.spark.serializer.KryoSerializer;
import org.junit.jupiter.api.Test;

class HashShuffleMapWriterTest {
    @Test
    void soManyPartitionsGetAStreamEach() {
        SparkConf conf = new SparkConf(false);
        assertEquals(2048, HashShuffleMapWriter.maxPartitions(new JavaSerializer(conf), false));
        assertEquals(256, HashShuffleMapWriter.maxPartitions(new JavaSerializer(conf), true));
        assertEquals(200, HashShuffleMapWriter.maxPartitions(new KryoSerializer(conf), false));
        assertEquals(200, HashShuffleMapWriter.maxPartitions(new KryoSerializer(conf), true));
    }
}
