// SPDX-License-Identifier: Apache-2.0
// Reads the records of a segment that lies outside the heap.
package org.verbena.hadoop.shuffle;

import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import org.apache.hadoop.io.DataInputBuffer;
import org.apache.hadoop.io.WritableUtils;
import org.apache.hadoop.mapred.IFile;
import org.apache.hadoop.mapred.JobConf;

/**
 * Comparators and deserialisers want arrays: the records pass through a window on the heap. A merge has all its segments open, each
 * with its next key in its window, and reads the value of one at a time: what of that is not in the window is copied to an array
 * that the readers of a merge share ({@link MergeHeap}).
 */
final class KeptReader<K, V> extends IFile.Reader<K, V> {
    private static final int MAX_VINT = 5;

    private final MergeHeap heap;
    private ByteBuffer bytes;
    private byte[] window;
    private int from;
    private int to;
    private final int records;

    /** segment: its records, not compressed, without a checksum. */
    KeptReader(JobConf conf, ByteBuffer segment, MergeHeap heap) throws IOException {
        super(conf, null, segment.limit(), null, null);
        this.heap = heap;
        records = segment.limit();
        bytes = segment.slice(0, records);
        window = new byte[heap.window(records)];
    }

    /** Has at least count bytes in the window, or all that are left. */
    private void need(int count) {
        if (to - from >= count || !bytes.hasRemaining()) {
            return;
        }
        byte[] old = window;
        if (count > window.length) {
            window = new byte[Math.min(count + count / 4, to - from + bytes.remaining())];
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
        need(currentKeyLength);
        key.reset(window, from, currentKeyLength);
        from += currentKeyLength;
        bytesRead += currentKeyLength;
        return true;
    }

    /** Leaves the key where it is: whoever has it uses it beside the value. */
    @Override
    public void nextRawValue(DataInputBuffer value) {
        int here = Math.min(currentValueLength, to - from);
        if (here == currentValueLength) {
            value.reset(window, from, here);
        } else {
            byte[] all = heap.value(currentValueLength);
            System.arraycopy(window, from, all, 0, here);
            bytes.get(all, here, currentValueLength - here);
            value.reset(all, 0, currentValueLength);
        }
        from += here;
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
}
