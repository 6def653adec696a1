// SPDX-License-Identifier: Apache-2.0
// The checksums that Spark keeps beside its shuffle files.
package org.verbena.spark.store;

import java.util.zip.Adler32;
import java.util.zip.CRC32;
import java.util.zip.CRC32C;
import java.util.zip.Checksum;
import org.apache.spark.SparkConf;

/** Computed for map outputs on disk where the user asks for checksums by name, as for those in memory. */
public final class FileChecksum {
    private FileChecksum() {
    }

    /** Computes the sums of Spark's algorithm; null when there are to be none. */
    public static Checksum of(SparkConf conf) {
        return conf.getBoolean("spark.shuffle.checksum.enabled", false)
            ? of(conf.get("spark.shuffle.checksum.algorithm", "ADLER32")) : null;
    }

    /** Null for an algorithm that Spark does not know either. */
    public static Checksum of(String algorithm) {
        return switch (algorithm) {
            case "ADLER32" -> new Adler32();
            case "CRC32" -> new CRC32();
            case "CRC32C" -> new CRC32C();
            default -> null;
        };
    }
}
