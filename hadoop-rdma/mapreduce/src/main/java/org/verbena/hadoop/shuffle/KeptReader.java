// SPDX-License-Identifier: Apache-2.0
// Reads the records of a segment that lies outside the heap.
package org.verbena.hadoop.shuffle;

import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSInputStream;
import org.apache.hadoop.io.DataInputBuffer;
import org.apache.hadoop.io.WritableUtils;
import org.apache.hadoop.io.compress.CompressionCodec;
import org.apache.hadoop.mapred.IFile;
import org.apache.hadoop.mapred.JobConf;

/**
 * Comparators and deserialisers want arrays: the records pass through a window of some KiB on the heap, in which a whole
 * record lies at a time, so that neither key nor value is copied again.
 */
final class KeptReader<K, V> extends IFile.Reader<K, V> {
    private static final int WINDOW = 64 << 10;
    private static final int MAX_VINT = 5;

    private ByteBuffer bytes;
    private byte[] window = new byte[WINDOW];
    private int from;
    private int to;
    private final int records;

    KeptReader(JobConf conf, ByteBuffer segment) throws IOException {
        super(conf, null, segment.limit(), null, null);
        records = segment.limit() - KeptOutput.CHECKSUM_BYTES;
        bytes = segment.slice(0, records);
    }

    /** A reader for a segment whose checksum has been checked. */
    static <K, V> IFile.Reader<K, V> of(JobConf conf, KeptOutput<K, V> output, CompressionCodec codec) throws IOException {
        return codec == null ? new KeptReader<>(conf, output.bytes()) : new Compressed<>(conf, output.bytes(), codec);
    }

    /** Has at least count bytes in the window, or all that are left. */
    private void need(int count) {
        if (to - from >= count || !bytes.hasRemaining()) {
            return;
        }
        byte[] old = window;
        if (count > window.length) {
            window = new byte[Math.max(count, (int) Math.min(Integer.MAX_VALUE - 8, 2L * window.length))];
        }
        System.arraycopy(old, from, window, 0, to - from);
        to -= from;
        from = 0;
        int more = Math.min(bytes.remaining(), window.length - to);
        bytes.get(window, to, more);
        to += more;
    }

    private int vint() throws IOException {
        if (from == to) {
            throw new EOFException("the segment ends within a record");
        }
        byte first = window[from];
        int size = WritableUtils.decodeVIntSize(first);
        if (size > MAX_VINT || size > to - from) {
            throw new IOException("a length of " + size + " bytes, " + (to - from) + " are left");
        }
        int value = first;
        if (size > 1) {
            value = 0;
            for (int i = 1; i < size; i++) {
                value = value << 8 | window[from + i] & 0xff;
            }
            value = WritableUtils.isNegativeVInt(first) ? ~value : value;
        }
        from += size;
        return value;
    }

    @Override
    public boolean nextRawKey(DataInputBuffer key) throws IOException {
        if (eof) {
            throw new EOFException("read " + bytesRead + " bytes of records already");
        }
        need(2 * MAX_VINT);
        int before = from;
        currentKeyLength = vint();
        currentValueLength = vint();
        bytesRead += from - before;
        if (currentKeyLength == IFile.EOF_MARKER && currentValueLength == IFile.EOF_MARKER) {
            eof = true;
            return false;
        }
        long length = (long) currentKeyLength + currentValueLength;
        if (currentKeyLength < 0 || currentValueLength < 0 || length > (long) to - from + bytes.remaining()) {
            throw new IOException("record " + recNo + " has a key of " + currentKeyLength + " and a value of "
                + currentValueLength + " bytes");
        }
        need((int) length);
        key.reset(window, from, currentKeyLength);
        from += currentKeyLength;
        bytesRead += currentKeyLength;
        return true;
    }

    @Override
    public void nextRawValue(DataInputBuffer value) {
        value.reset(window, from, currentValueLength);
        from += currentValueLength;
        bytesRead += currentValueLength;
        recNo++;
    }

    @Override
    public long getPosition() {
        return bytesRead;
    }

    @Override
    public long getLength() {
        return records;
    }

    @Override
    public void close() {
        bytes = null;
        window = null;
    }

    /** Through the codec, as from a file. */
    private static final class Compressed<K, V> extends IFile.Reader<K, V> {
        private final DataInputBuffer own = new DataInputBuffer();

        Compressed(JobConf conf, ByteBuffer segment, CompressionCodec codec) throws IOException {
            super(conf, new FSDataInputStream(new Input(segment)), segment.limit(), codec, null);
            disableChecksumValidation();
        }

        /** The merge takes segments of memory for such that bring their own arrays. */
        @Override
        public void nextRawValue(DataInputBuffer value) throws IOException {
            super.nextRawValue(own);
            value.reset(own.getData(), 0, own.getLength());
        }
    }

    /** A buffer as Hadoop's kind of stream. */
    static final class Input extends FSInputStream {
        private final ByteBuffer bytes;

        Input(ByteBuffer bytes) {
            this.bytes = bytes.duplicate();
        }

        @Override
        public int read() {
            return bytes.hasRemaining() ? bytes.get() & 0xff : -1;
        }

        @Override
        public int read(byte[] array, int offset, int length) {
            if (!bytes.hasRemaining()) {
                return length == 0 ? 0 : -1;
            }
            int count = Math.min(length, bytes.remaining());
            bytes.get(array, offset, count);
            return count;
        }

        @Override
        public void seek(long position) throws IOException {
            if (position < 0 || position > bytes.limit()) {
                throw new EOFException("position " + position + " of " + bytes.limit());
            }
            bytes.position((int) position);
        }

        @Override
        public long getPos() {
            return bytes.position();
        }

        @Override
        public boolean seekToNewSource(long target) {
            return false;
        }
    }
}
