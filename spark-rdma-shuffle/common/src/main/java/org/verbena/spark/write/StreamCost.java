// SPDX-License-Identifier: Apache-2.0
// What an open stream of one partition takes, of which a map task has as many as partitions.
package org.verbena.spark.write;

import java.util.Locale;
import org.apache.spark.SparkConf;
import org.apache.spark.serializer.Serializer;
import org.verbena.spark.serial.Serializers;

/** About how many bytes; buffers that the configuration sizes are counted as it sizes them. */
final class StreamCost {
    /** The partition's own buffer, and the objects of its streams. */
    private static final long OWN = 5 << 10;
    /** What gathers small writes in front of a stream that compresses or encrypts. */
    private static final long GATHERED = 4 << 10;
    /** A Kryo has tables of its own. */
    private static final long HEAVY = 32 << 10;
    /** Of native memory, at the usual level. */
    private static final long ZSTD_CONTEXT = 160 << 10;
    private static final long LZF = 128 << 10;
    private static final long CIPHER = 64 << 10;

    private StreamCost() {
    }

    /** Whether Spark puts streams of its own around each partition. */
    static boolean isWrapped(SparkConf conf) {
        return compresses(conf) || encrypts(conf);
    }

    private static boolean compresses(SparkConf conf) {
        return conf.getBoolean("spark.shuffle.compress", true);
    }

    private static boolean encrypts(SparkConf conf) {
        return conf.getBoolean("spark.io.encryption.enabled", false);
    }

    /** Of one stream by this serializer. */
    static long bytes(Serializer serializer, SparkConf conf) {
        long bytes = OWN + (isWrapped(conf) ? GATHERED : 0) + (encrypts(conf) ? CIPHER : 0) + (compresses(conf) ? codec(conf) : 0);
        return Serializers.isLight(serializer) ? bytes
            : bytes + HEAVY + conf.getSizeAsBytes("spark.kryoserializer.buffer", "64k");
    }

    /** Plain and compressed bytes of a block, or the like. */
    private static long codec(SparkConf conf) {
        String name = conf.get("spark.io.compression.codec", "lz4").toLowerCase(Locale.ROOT);
        if (name.contains("zstd")) {
            return ZSTD_CONTEXT + conf.getSizeAsBytes("spark.io.compression.zstd.bufferSize", "32k");
        } else if (name.contains("snappy")) {
            return 2 * conf.getSizeAsBytes("spark.io.compression.snappy.blockSize", "32k");
        } else if (name.contains("lz4")) {
            return 2 * conf.getSizeAsBytes("spark.io.compression.lz4.blockSize", "32k");
        }
        return LZF;
    }
}
