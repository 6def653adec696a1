// SPDX-License-Identifier: Apache-2.0
// The messages of a shuffle.
package org.verbena.hadoop.shuffle;

import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.verbena.core.VbnException;
import org.verbena.core.VbnStatus;

/**
 * Little endian. Every header is {version, 3 zero bytes, number int, request long, offset long}.
 *
 * <p>LOOKUP (number: the reducer; offset: 1 if places are wanted, else 0) asks how long its segments of some map outputs are; its
 * data is {0 long, 0 long, length short, name} for each. SIZES answers with {part long, raw long} for each, part -1 for a map
 * output that is not there. If places are wanted and known there follow {folders short}, {mark of 16 bytes, length short, name}
 * for each folder, and {folder short, offset long, length short, path} for each map output, folder -1 where it lies in none.
 * LOAD (number: the reducer) asks for bytes; its data is {first long, length long, length short, name} for each range.
 * DATA carries bytes of all ranges of a LOAD, one behind the other in the order of the request; offset: the first byte.
 * FAILED (number: the range) ends a LOAD that cannot be served, or a LOOKUP; its data is the cause in UTF-8.
 */
final class Wire {
    static final int LOOKUP = 1;
    static final int SIZES = 2;
    static final int LOAD = 3;
    static final int DATA = 4;
    static final int FAILED = 5;
    static final int MAX_RANGES = 256;
    static final int MAX_REQUEST_BYTES = 64 << 10;
    static final int MAX_CAUSE_BYTES = 512;
    /** Most bytes of one DATA message. */
    static final int PIECE = 1 << 20;
    /** Of a shared folder's mark. */
    static final int MARK_BYTES = 16;
    /** The offset of a LOOKUP that wants places. */
    static final int PLACES = 1;
    /** Of a segment's lengths. */
    static final int SIZE_BYTES = 16;
    private static final byte VERSION = 1;
    private static final int HEADER = 24;
    private static final int MAX_NAME = 256;

    private Wire() {
    }

    /** Any header. */
    record Header(int number, long request, long offset) {
    }

    /** Bytes of one map output's segment, or all of it when both numbers are 0. */
    record Range(String attempt, long first, long length) {
    }

    /** The lengths of a segment; part is -1 when it is not there. */
    record Size(long part, long raw) {
    }

    /**
     * A folder that a reducer may see as well.
     *
     * @param mark in hexadecimal digits
     * @param name relative to the root of the shared file system
     */
    record Folder(String mark, String name) {
    }

    /**
     * Where a segment lies.
     *
     * @param path of the map output, relative to the folder
     * @param offset of the segment's first byte
     */
    record Place(Folder folder, String path, long offset) {
    }

    private static VbnException malformed(String what) {
        return new VbnException(VbnStatus.PROTOCOL, "malformed shuffle message: " + what);
    }

    static ByteBuffer header(int number, long request, long offset) {
        return ByteBuffer.allocate(HEADER).order(ByteOrder.LITTLE_ENDIAN).put(0, VERSION).putInt(4, number)
            .putLong(8, request).putLong(16, offset);
    }

    static Header header(ByteBuffer bytes) throws VbnException {
        ByteBuffer in = bytes.slice().order(ByteOrder.LITTLE_ENDIAN);
        if (in.remaining() != HEADER || in.get(0) != VERSION) {
            throw malformed("header of " + in.remaining() + " bytes" + (in.hasRemaining() ? ", version " + in.get(0) : ""));
        }
        return new Header(in.getInt(4), in.getLong(8), in.getLong(16));
    }

    static ByteBuffer ranges(List<Range> ranges) {
        int size = 0;
        for (Range range : ranges) {
            size += 18 + range.attempt().length();
        }
        ByteBuffer out = ByteBuffer.allocateDirect(size).order(ByteOrder.LITTLE_ENDIAN);
        for (Range range : ranges) {
            byte[] name = range.attempt().getBytes(StandardCharsets.ISO_8859_1);
            out.putLong(range.first()).putLong(range.length()).putShort((short) name.length).put(name);
        }
        return out.flip();
    }

    static List<Range> ranges(ByteBuffer data) throws VbnException {
        ByteBuffer in = data.slice().order(ByteOrder.LITTLE_ENDIAN);
        List<Range> ranges = new ArrayList<>();
        long sum = 0;
        try {
            while (in.hasRemaining()) {
                long first = in.getLong();
                long length = in.getLong();
                int nameLength = in.getShort() & 0xffff;
                sum += length;
                if (first < 0 || length < 0 || sum < 0 || nameLength > MAX_NAME || ranges.size() == MAX_RANGES) {
                    throw malformed("range " + ranges.size());
                }
                byte[] name = new byte[nameLength];
                in.get(name);
                ranges.add(new Range(new String(name, StandardCharsets.ISO_8859_1), first, length));
            }
        } catch (BufferUnderflowException e) {
            throw malformed("it ends within range " + ranges.size());
        }
        return ranges;
    }

    static ByteBuffer sizes(List<Size> sizes) {
        ByteBuffer out = ByteBuffer.allocateDirect(SIZE_BYTES * sizes.size()).order(ByteOrder.LITTLE_ENDIAN);
        sizes.forEach(size -> out.putLong(size.part()).putLong(size.raw()));
        return out.flip();
    }

    /** @param count how many there have to be */
    static List<Size> sizes(ByteBuffer data, int count) throws VbnException {
        ByteBuffer in = data.slice().order(ByteOrder.LITTLE_ENDIAN);
        if (in.remaining() != SIZE_BYTES * count) {
            throw malformed(in.remaining() + " bytes with the lengths of " + count + " segments");
        }
        List<Size> sizes = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            Size size = new Size(in.getLong(), in.getLong());
            if (size.part() < -1 || size.raw() < 0) {
                throw malformed("a segment of " + size.part() + " bytes");
            }
            sizes.add(size);
        }
        return sizes;
    }

    static ByteBuffer cause(String text) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        int length = Math.min(bytes.length, MAX_CAUSE_BYTES);
        return ByteBuffer.allocateDirect(length).put(bytes, 0, length).flip();
    }

    static String cause(ByteBuffer data) {
        byte[] bytes = new byte[Math.min(data.remaining(), MAX_CAUSE_BYTES)];
        data.slice().get(bytes);
        return new String(bytes, StandardCharsets.UTF_8).replaceAll("\\p{Cntrl}", "?");
    }
}
