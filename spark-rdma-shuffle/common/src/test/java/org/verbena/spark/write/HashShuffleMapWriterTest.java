// SPDX-License-Identifier: Apache-2.0
package org.verbena.spark.write;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.apache.spark.SparkConf;
import org.apache.spark.serializer.JavaSerializer;
import org.apache.spark.serializer.KryoSerializer;
import org.apache.spark.serializer.Serializer;
import org.junit.jupiter.api.Test;
import org.verbena.spark.serial.Serializers;

class HashShuffleMapWriterTest {
    private static final String UNCOMPRESSED = "spark.shuffle.compress=false";

    /** A user's own, of which nothing is known. */
    private static final class Other extends JavaSerializer {
        private static final long serialVersionUID = 1;

        Other(SparkConf conf) {
            super(conf);
        }
    }

    private static SparkConf conf(String... settings) {
        SparkConf conf = new SparkConf(false);
        for (String setting : settings) {
            conf.set(setting.split("=", 2)[0], setting.split("=", 2)[1]);
        }
        return conf;
    }

    private static int most(Serializer serializer, String... settings) {
        return HashShuffleMapWriter.maxPartitions(serializer, conf(settings));
    }

    @Test
    void soManyPartitionsGetAStreamEach() {
        Serializer ours = Serializers.shortForm(new JavaSerializer(conf()));
        assertEquals(2048, most(ours, UNCOMPRESSED));
        assertEquals(256, most(ours));
        assertEquals(200, most(new KryoSerializer(conf()), UNCOMPRESSED));
        assertEquals(200, most(new KryoSerializer(conf())));
    }

    @Test
    void streamsOfAnUnknownSerializerAreAsManyAsSparksOwnShuffleOpens() {
        assertEquals(200, most(new Other(conf()), UNCOMPRESSED));
    }

    @Test
    void largerBuffersMeanFewerStreams() {
        Serializer ours = Serializers.shortForm(new JavaSerializer(conf()));
        int large = most(ours, "spark.io.compression.lz4.blockSize=1m");
        assertTrue(large < 30 && large > 10, large + " streams of 2 MiB");
        int kryo = most(new KryoSerializer(conf()), UNCOMPRESSED, "spark.kryoserializer.buffer=4m");
        assertTrue(kryo < 15 && kryo > 5, kryo + " streams of 4 MiB");
    }
}
