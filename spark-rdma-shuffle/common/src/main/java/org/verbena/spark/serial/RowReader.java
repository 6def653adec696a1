// SPDX-License-Identifier: Apache-2.0
// Reads one block's rows without copying them out of the buffer.
package org.verbena.spark.serial;

import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.util.NoSuchElementException;
import org.apache.spark.serializer.DeserializationStream;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.unsafe.Platform;
import scala.Tuple2;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;
import scala.reflect.ClassTag;

/**
 * Returns the same row object again and again, as Spark's own does; its content is good until the next row is asked
 * for, also after {@code hasNext}. Closes the block after its last row. Belongs to one thread.
 */
final class RowReader extends DeserializationStream {
    private final BlockInput.Spare spare;
    private final BlockInput in;
    private final UnsafeRow row;
    private boolean closed;

    RowReader(int fields, BlockInput.Spare spare, InputStream block) {
        this.spare = spare;
        this.in = spare.open(block);
        this.row = new UnsafeRow(fields);
    }

    private boolean more() {
        try {
            if (!closed && in.more()) {
                return true;
            }
            close();
            return false;
        } catch (IOException e) {
            throw Sneaky.raise(e);
        }
    }

    private UnsafeRow next() {
        if (closed) { // its buffers may be another block's by now
            throw new NoSuchElementException("the block has no more values");
        }
        try {
            int size = in.readLength();
            int begin = in.take(size);
            row.pointTo(in.buffer(), (long) Platform.BYTE_ARRAY_OFFSET + begin, size);
            return row;
        } catch (IOException e) {
            throw Sneaky.raise(e);
        }
    }

    @Override
    public Iterator<Tuple2<Object, Object>> asKeyValueIterator() {
        Tuple2<Object, Object> pair = new Tuple2<>(0, row);
        return new AbstractIterator<>() {
            @Override
            public boolean hasNext() {
                return more();
            }

            @Override
            public Tuple2<Object, Object> next() {
                RowReader.this.next();
                return pair;
            }
        };
    }

    @Override
    public Iterator<Object> asIterator() {
        throw new UnsupportedOperationException("rows are read as values");
    }

    @Override
    @SuppressWarnings("unchecked")
    public <T> T readKey(ClassTag<T> tag) {
        return (T) Integer.valueOf(0);
    }

    @Override
    @SuppressWarnings("unchecked")
    public <T> T readValue(ClassTag<T> tag) {
        if (!more()) {
            throw Sneaky.raise(new EOFException("the block has no more rows"));
        }
        return (T) next();
    }

    @Override
    public <T> T readObject(ClassTag<T> tag) {
        throw new UnsupportedOperationException("rows are read as values");
    }

    @Override
    public void close() {
        if (!closed) {
            closed = true;
            try {
                spare.close(in);
            } catch (IOException e) {
                throw Sneaky.raise(e);
            }
        }
    }
}
