// SPDX-License-Identifier: Apache-2.0
// Writes a map output as Spark's own data and index file.
package org.verbena.spark.store;

import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.StandardOpenOption;

/** Partition after partition into one temporary file, then committed by Spark's resolver. */
final class SpillToFiles {
    private SpillToFiles() {
    }

    /** Something that can write its partition p to a channel at its end and says how many bytes that were. */
    interface Source {
        long write(int partition, FileChannel to) throws IOException;
    }

    /** Writes a pinned output. */
    static void write(MapOutput output, ShuffleFiles files) throws IOException {
        write(output.shuffleId(), output.mapId(), output.index().partitions(), files, (p, to) -> {
            long sum = 0;
            for (ByteBuffer piece : output.index().pieces(p, p + 1)) {
                sum += drain(piece, to);
            }
            return sum;
        });
    }

    /**
     * Writes all partitions of a source and commits the files.
     *
     * @return bytes of each partition
     */
    static long[] write(int shuffleId, long mapId, int partitions, ShuffleFiles files, Source source)
            throws IOException {
        File data = files.temporary(shuffleId, mapId);
        boolean done = false;
        try {
            long[] lengths = new long[partitions];
            try (FileChannel to = FileChannel.open(data.toPath(), StandardOpenOption.CREATE_NEW,
                    StandardOpenOption.WRITE)) {
                for (int p = 0; p < partitions; p++) {
                    lengths[p] = source.write(p, to);
                }
            }
            files.commit(shuffleId, mapId, lengths, data);
            done = true;
            return lengths;
        } finally {
            if (!done) {
                Files.deleteIfExists(data.toPath());
            }
        }
    }

    /** Writes a buffer to its end; returns how many bytes that were. */
    static long drain(ByteBuffer piece, FileChannel to) throws IOException {
        long length = piece.remaining();
        while (piece.hasRemaining()) {
            to.write(piece);
        }
        return length;
    }
}
