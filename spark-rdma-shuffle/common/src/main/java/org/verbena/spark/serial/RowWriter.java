// SPDX-License-Identifier: Apache-2.0
// Writes one block's rows.
package org.verbena.spark.serial;

import java.io.IOException;
import org.apache.spark.serializer.SerializationStream;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.util.AccumulatorV2;
import org.verbena.spark.store.ByteSink;
import scala.reflect.ClassTag;

/** Keys are partition numbers, which the reading side does not need. Belongs to one thread. */
final class RowWriter extends SerializationStream {
    private final ByteSink out;
    private final AccumulatorV2<Object, Object> dataSize;
    private long uncounted;
    private byte[] copy = new byte[0];

    /**
     * Makes a writer.
     *
     * @param dataSize counts the rows' bytes; may be null
     */
    RowWriter(ByteSink out, AccumulatorV2<Object, Object> dataSize) {
        this.out = out;
        this.dataSize = dataSize;
    }

    @Override
    public <T> SerializationStream writeKey(T key, ClassTag<T> tag) {
        return this;
    }

    @Override
    public <T> SerializationStream writeValue(T value, ClassTag<T> tag) {
        UnsafeRow row = (UnsafeRow) value;
        int size = row.getSizeInBytes();
        uncounted += size;
        try {
            out.writeInt(size);
            Object base = row.getBaseObject();
            if (base instanceof byte[] bytes) {
                out.write(bytes, (int) (row.getBaseOffset() - Platform.BYTE_ARRAY_OFFSET), size);
            } else {
                if (copy.length < size) {
                    copy = new byte[Math.max(size, 1 << 10)];
                }
                Platform.copyMemory(base, row.getBaseOffset(), copy, Platform.BYTE_ARRAY_OFFSET, size);
                out.write(copy, 0, size);
            }
            return this;
        } catch (IOException e) {
            throw Sneaky.raise(e);
        }
    }

    @Override
    public <T> SerializationStream writeObject(T value, ClassTag<T> tag) {
        throw new UnsupportedOperationException("rows are written as values");
    }

    private void count() {
        if (dataSize != null && uncounted > 0) {
            dataSize.add(uncounted);
        }
        uncounted = 0;
    }

    @Override
    public void flush() {
        count();
        try {
            out.flush();
        } catch (IOException e) {
            throw Sneaky.raise(e);
        }
    }

    @Override
    public void close() {
        count();
        try {
            out.close();
        } catch (IOException e) {
            throw Sneaky.raise(e);
        }
    }
}
