// SPDX-License-Identifier: Apache-2.0
// Writes a map output as Spark's own data and index file.
package org.verbena.spark.store;

import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.StandardOpenOption;
import java.util.zip.Checksum;

/** Partition after partition into one temporary file, then committed by Spark's resolver. */
final class SpillToFiles {
    private SpillToFiles() {
    }

    /** Something that can write its partitions. */
    interface Source {
        /** How the file is to be compressed; null: not. */
        Packing packing() throws IOException;

        /** Writes a partition; says how many bytes that were. */
        long write(int partition, FileSink to) throws IOException;

        /** The checksum of the partition that was written last; asked for only where there are checksums. */
        long sum(int partition) throws IOException;
    }

    /** A map output in slabs. */
    private static final class Pinned implements Source {
        private final MapOutput output;
        private final MapIndex index;
        private final Packing packing;
        private final Checksum checksum;

        Pinned(MapOutput output, ShuffleFiles files) {
            this.output = output;
            this.index = output.index();
            this.packing = files.packing();
            this.checksum = files.checksum();
        }

        @Override
        public Packing packing() throws IOException {
            return Packing.orNull(packing, this::sample);
        }

        private int sample(byte[] into) throws IOException {
            int largest = 0;
            for (int p = 1; p < index.partitions(); p++) {
                largest = index.length(p, p + 1) > index.length(largest, largest + 1) ? p : largest;
            }
            ByteBuffer to = ByteBuffer.wrap(into);
            for (ByteBuffer piece : index.pieces(largest, largest + 1)) {
                to.put(piece.limit(Math.min(piece.limit(), to.remaining())));
            }
            return to.position();
        }

        @Override
        public long write(int partition, FileSink to) throws IOException {
            if (output.state() == MapOutput.State.REMOVED) {
                throw new Removed();
            }
            long sum = 0;
            if (checksum != null) {
                checksum.reset();
            }
            for (ByteBuffer piece : index.pieces(partition, partition + 1)) {
                if (checksum != null) {
                    checksum.update(piece.duplicate());
                }
                sum += to.write(piece);
            }
            return sum;
        }

        /** Another one when the bytes are not the map task's: Spark's diagnosis shall find that. */
        @Override
        public long sum(int partition) throws IOException {
            try {
                index.verify(partition, partition + 1);
                return checksum.getValue();
            } catch (MapIndex.Damaged e) {
                return ~checksum.getValue();
            }
        }
    }

    /** Ends the writing of an output that nobody needs any more. */
    private static final class Removed extends IOException {
        private static final long serialVersionUID = 1;
    }

    /**
     * Writes a pinned output.
     *
     * @return false when it was removed meanwhile; then there are no files
     */
    static boolean write(MapOutput output, ShuffleFiles files) throws IOException {
        try {
            write(output.shuffleId(), output.mapId(), output.index().partitions(), files, new Pinned(output, files));
            return true;
        } catch (Removed e) {
            return false;
        }
    }

    /**
     * Writes all partitions of a source and commits the files.
     *
     * @return bytes of each partition, without compression
     */
    static long[] write(int shuffleId, long mapId, int partitions, ShuffleFiles files, Source source)
            throws IOException {
        File data = files.temporary(shuffleId, mapId);
        boolean done = false;
        try {
            long[] lengths = new long[partitions];
            long[] inFile = new long[partitions];
            long[] sums = new long[files.checksum() == null ? 0 : partitions];
            try (FileChannel to = FileChannel.open(data.toPath(), StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
                    FileSink sink = new FileSink(to, source.packing())) {
                for (int p = 0; p < partitions; p++) {
                    long start = to.position();
                    lengths[p] = source.write(p, sink);
                    sink.end();
                    inFile[p] = to.position() - start;
                    if (sums.length > 0) {
                        sums[p] = source.sum(p);
                    }
                }
                if (sink.packing() != null) {
                    PackedFile.end(to, lengths);
                }
            }
            files.commit(shuffleId, mapId, inFile, sums, data);
            done = true;
            return lengths;
        } finally {
            if (!done) {
                Files.deleteIfExists(data.toPath());
            }
        }
    }
}
