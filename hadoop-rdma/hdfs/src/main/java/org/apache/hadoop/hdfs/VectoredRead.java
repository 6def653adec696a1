// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hdfs;

import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.apache.hadoop.fs.FileRange;
import org.apache.hadoop.hdfs.protocol.DatanodeInfo;
import org.apache.hadoop.hdfs.protocol.LocatedBlock;

/**
 * The small parts of a vectored read. All are asked for at once, by one connection to each DataNode; near ones are asked for
 * together. Then Hadoop's code reads part by part, in the order of the file, and takes here what has been answered. Whatever is
 * not to be had here it reads as it would without: invalid ranges, large ones, those of more than one block, and all that goes
 * wrong. One thread.
 */
final class VectoredRead implements Closeable {
    private final SmallReadsInputStream stream;
    /** By DataNode. */
    private final Map<DatanodeInfo, ReadConnection> connections = new LinkedHashMap<>();
    /** In the order of the file. The first one's bytes may be here. */
    private final Deque<Part> parts = new ArrayDeque<>();
    private ByteBuffer firstBytes;

    /** What is asked for at once. */
    private record Part(ReadRequest request, ReadConnection connection) {
        long fileOffset() {
            return request.block().getStartOffset() + request.offset();
        }

        boolean has(LocatedBlock block, long offset, int length) {
            return block.getBlock().equals(request.block().getBlock())
                && block.getBlock().getGenerationStamp() == request.block().getBlock().getGenerationStamp()
                && offset >= request.offset() && offset + length <= request.end();
        }
    }

    /** A place in the file. */
    private record Span(LocatedBlock block, long begin, long end) {
        static Span of(LocatedBlock block, FileRange range) {
            return new Span(block, range.getOffset(), range.getOffset() + range.getLength());
        }
    }

    VectoredRead(SmallReadsInputStream stream) {
        this.stream = stream;
    }

    /** Asks for the small ranges, if there are several. Throws nothing that reading them does not find out as well. */
    void ask(List<? extends FileRange> ranges) {
        if (ranges == null || ranges.size() < 2 || ranges.stream().anyMatch(Objects::isNull)) {
            return;
        }
        List<FileRange> sorted = new ArrayList<>(ranges);
        sorted.sort(Comparator.comparingLong(FileRange::getOffset));
        long end = 0;
        for (FileRange range : sorted) {
            if (range.getLength() < 0 || range.getOffset() < end) {
                return; // Hadoop refuses the whole
            }
            end = range.getOffset() + range.getLength();
        }
        try {
            for (Span span : merged(sorted)) {
                add(span);
            }
        } catch (IOException e) {
            DFSClient.LOG.debug("the blocks of {} are not known: {}", stream.getSrc(), e.toString());
        }
        connections.values().forEach(ReadConnection::send);
    }

    private List<Span> merged(List<FileRange> sorted) throws IOException {
        List<Span> spans = new ArrayList<>();
        Span last = null;
        for (FileRange range : sorted) {
            LocatedBlock block = range.getLength() > 0 && range.getLength() <= SmallBlockReader.MOST ? block(range, last) : null;
            if (block != null) {
                Span next = Span.of(block, range);
                if (last != null && isNear(last, next)) {
                    next = new Span(block, last.begin, next.end);
                    spans.remove(spans.size() - 1);
                }
                spans.add(next);
                last = next;
            }
        }
        return spans;
    }

    /** The block that has all of a range, null when none has. */
    private LocatedBlock block(FileRange range, Span last) throws IOException {
        long end = range.getOffset() + range.getLength();
        if (end > stream.getFileLength()) {
            return null;
        }
        LocatedBlock block = last != null && isWithin(last.block, range.getOffset()) ? last.block
            : stream.getBlockAt(range.getOffset());
        return isWithin(block, range.getOffset()) && isWithin(block, end - 1) ? block : null;
    }

    private static boolean isWithin(LocatedBlock block, long place) {
        return place >= block.getStartOffset() && place < block.getStartOffset() + block.getBlockSize();
    }

    private boolean isNear(Span last, Span next) {
        return last.block == next.block && next.begin - last.end < stream.minSeekForVectorReads()
            && next.end - last.begin <= Math.min(SmallBlockReader.MOST, stream.maxReadSizeForVectorReads());
    }

    /** Of the DataNode that Hadoop's code will choose. */
    private void add(Span span) throws IOException {
        int length = (int) (span.end - span.begin);
        DFSInputStream.DNAddrPair chosen = stream.getBestNodeDNAddrPair(span.block, null);
        if (chosen == null || !stream.isSmall(length, chosen.addr) || stream.oneRequestNodes().has(chosen.info)) {
            return;
        }
        ReadRequest request = stream.request(span.block, span.begin - span.block.getStartOffset(), length);
        ReadConnection connection = connections.computeIfAbsent(chosen.info,
            node -> new ReadConnection(stream.getDFSClient(), chosen.addr, node));
        connection.add(request);
        parts.add(new Part(request, connection));
    }

    /**
     * Takes what was asked for.
     *
     * @param offset in the block, not before the one of the last call
     * @return the bytes, null when they are not to be had here
     * @throws IOException as of {@link ReadConnection#answer}
     */
    ByteBuffer take(LocatedBlock block, long offset, int length, DatanodeInfo node) throws IOException {
        long end = block.getStartOffset() + offset + length;
        while (!parts.isEmpty() && parts.peek().fileOffset() + parts.peek().request.length() < end) {
            parts.poll();
            firstBytes = null;
        }
        Part part = parts.peek();
        if (part == null || !part.has(block, offset, length) || !part.connection.node().equals(node)) {
            return null;
        }
        if (firstBytes == null) {
            firstBytes = part.connection.answer(part.request);
        }
        return firstBytes == null ? null : firstBytes.slice((int) (offset - part.request.offset()), length);
    }

    @Override
    public void close() {
        for (ReadConnection connection : connections.values()) {
            if (connection.isBrief()) {
                stream.oneRequestNodes().add(connection.node());
            }
            connection.close();
        }
    }
}
