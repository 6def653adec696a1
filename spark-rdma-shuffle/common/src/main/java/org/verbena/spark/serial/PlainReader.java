// SPDX-License-Identifier: Apache-2.0
// Reads one block's values.
package org.verbena.spark.serial;

import java.io.ByteArrayInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.NoSuchElementException;
import org.apache.spark.serializer.DeserializationStream;
import org.apache.spark.serializer.SerializerInstance;
import scala.Tuple2;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;

/** Closes the block when its last value was read. Belongs to one thread. */
final class PlainReader extends DeserializationStream {
    private static final ClassTag<Object> ANY = ClassTag$.MODULE$.apply(Object.class);

    private final SerializerInstance instance;
    private final BlockInput.Spare spare;
    private final BlockInput in;
    private final Frames frames = new Frames();
    /** The stream of the serializer below; made at its first value, because it reads a header. */
    private DeserializationStream below;
    private boolean closed;

    PlainReader(SerializerInstance instance, BlockInput.Spare spare, InputStream block) {
        this.instance = instance;
        this.spare = spare;
        this.in = spare.open(block);
    }

    /** The bytes of the serializer below, one value's after the other's. */
    private static final class Frames extends InputStream {
        private byte[] bytes = new byte[0];
        private int at;

        /** What the stream below left of the last value (a reset mark) comes first. */
        void add(byte[] frame) {
            int rest = bytes.length - at;
            byte[] all = frame;
            if (rest > 0) {
                all = new byte[rest + frame.length];
                System.arraycopy(bytes, at, all, 0, rest);
                System.arraycopy(frame, 0, all, rest, frame.length);
            }
            bytes = all;
            at = 0;
        }

        /** What is left belongs to a stream that has ended. */
        void drop() {
            at = bytes.length;
        }

        @Override
        public int read() {
            return at < bytes.length ? bytes[at++] & 0xff : -1;
        }

        @Override
        public int read(byte[] to, int offset, int count) {
            int n = Math.min(count, bytes.length - at);
            if (n <= 0) {
                return count == 0 ? 0 : -1;
            }
            System.arraycopy(bytes, at, to, offset, n);
            at += n;
            return n;
        }

        @Override
        public int available() {
            return bytes.length - at;
        }
    }

    /** Whether there is another value; closes the block when there is none. */
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

    private Object next() {
        if (closed) { // its buffers may be another block's by now
            throw new NoSuchElementException("the block has no more values");
        }
        try {
            return read();
        } catch (IOException e) {
            throw Sneaky.raise(e);
        }
    }

    private Object read() throws IOException {
        int tag = in.readByte();
        switch (tag) {
            case Plain.INTEGER:
                return in.readInt();
            case Plain.BYTES:
                return in.readFully(in.readLength());
            case Plain.LONG:
                return in.readLong();
            case Plain.LATIN_TEXT:
                int length = in.readLength();
                int begin = in.take(length);
                return new String(in.buffer(), begin, length, StandardCharsets.ISO_8859_1);
            case Plain.TUPLE2:
                Object first = read();
                return new Tuple2<>(first, read());
            default:
                return readRare(tag);
        }
    }

    private Object readRare(int tag) throws IOException {
        return switch (tag) {
            case Plain.NULL -> null;
            case Plain.DOUBLE -> Double.longBitsToDouble(in.readLong());
            case Plain.FALSE -> Boolean.FALSE;
            case Plain.TRUE -> Boolean.TRUE;
            case Plain.FLOAT -> Float.intBitsToFloat(in.readInt());
            case Plain.SHORT -> (short) in.readInt();
            case Plain.BYTE -> (byte) in.readInt();
            case Plain.CHARACTER -> (char) in.readInt();
            case Plain.WIDE_TEXT -> readWideText();
            case Plain.OTHER -> readBelow();
            case Plain.ANEW -> readAnew();
            case Plain.ALONE -> readAlone();
            default -> throw new IOException("a shuffle block is damaged: value of kind " + tag);
        };
    }

    private String readWideText() throws IOException {
        int length = in.readLength();
        if (length > Integer.MAX_VALUE / 2) {
            throw new IOException("a shuffle block is damaged: text of " + length + " characters");
        }
        byte[] bytes = in.readFully(2 * length);
        char[] letters = new char[length];
        for (int i = 0; i < length; i++) {
            letters[i] = (char) (bytes[2 * i] << 8 | bytes[2 * i + 1] & 0xff);
        }
        return new String(letters);
    }

    private Object readBelow() throws IOException {
        frames.add(in.readFully(in.readLength()));
        if (below == null) {
            below = instance.deserializeStream(frames);
        }
        return below.readObject(ANY);
    }

    private Object readAnew() throws IOException {
        below = null;
        frames.drop();
        return readBelow();
    }

    private Object readAlone() throws IOException {
        byte[] bytes = in.readFully(in.readLength());
        return instance.deserializeStream(new ByteArrayInputStream(bytes)).readObject(ANY);
    }

    @Override
    @SuppressWarnings("unchecked")
    public <T> T readObject(ClassTag<T> tag) {
        if (!more()) {
            throw Sneaky.raise(new EOFException("the block has no more values"));
        }
        return (T) next();
    }

    @Override
    public Iterator<Tuple2<Object, Object>> asKeyValueIterator() {
        return new AbstractIterator<>() {
            @Override
            public boolean hasNext() {
                return more();
            }

            @Override
            public Tuple2<Object, Object> next() {
                Object key = PlainReader.this.next();
                return new Tuple2<>(key, PlainReader.this.next());
            }
        };
    }

    @Override
    public Iterator<Object> asIterator() {
        return new AbstractIterator<>() {
            @Override
            public boolean hasNext() {
                return more();
            }

            @Override
            public Object next() {
                return PlainReader.this.next();
            }
        };
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
