// SPDX-License-Identifier: Apache-2.0
// What the store needs of Spark's own shuffle files.
package org.verbena.spark.store;

import java.io.File;
import java.util.zip.Checksum;

/** Spark's data and index files of this executor; implemented by the block resolver. Thread safe. */
public interface ShuffleFiles {
    /** Names a new temporary file in the directory of the output's data file. */
    File temporary(int shuffleId, long mapId);

    /**
     * Makes a data file that holds all partitions in order the output of the map task, with its index.
     *
     * @param lengths bytes of each partition in the file, where more may follow ({@link PackedFile})
     * @param sums checksum of each partition, or none
     */
    void commit(int shuffleId, long mapId, long[] lengths, long[] sums, File data);

    /** How the partitions are compressed in files; null when as they are. */
    Packing packing();

    /** Computes the checksums that {@link #commit} takes; null when it is to get none. */
    Checksum checksum();

    /** Deletes the output's files if there are any. */
    void delete(int shuffleId, long mapId);
}
