// SPDX-License-Identifier: Apache-2.0
// Writes one block's values.
package org.verbena.spark.serial;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import org.apache.spark.serializer.SerializationStream;
import org.apache.spark.serializer.SerializerInstance;
import org.verbena.spark.store.ByteSink;
import scala.Tuple2;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;

/** Belongs to one thread. */
final class PlainWriter extends SerializationStream {
    private static final ClassTag<Object> ANY = ClassTag$.MODULE$.apply(Object.class);

    private final SerializerInstance instance;
    private final ByteSink out;
    private final boolean relocatable;
    private final HeldValues values;
    /** The stream of the serializer below; made at the first use, and again after {@link #beginAnew}. */
    private SerializationStream below;
    private boolean hadOne;
    /** Bytes that {@link HeldValues} counts for this writer; its own. */
    long held;

    /**
     * Makes a writer.
     *
     * @param relocatable whether the bytes of each value must be readable without those of the values before
     * @param values of all streams of the instance
     */
    PlainWriter(SerializerInstance instance, ByteSink out, boolean relocatable, HeldValues values) {
        this.instance = instance;
        this.out = out;
        this.relocatable = relocatable;
        this.values = values;
    }

    /** Whether a value is written in the short form, without the serializer below. */
    static boolean isShort(Object value) {
        return value == null || value instanceof Number && isBoxed(value.getClass()) || value instanceof byte[]
            || value instanceof String || value instanceof Boolean || value instanceof Character
            || value.getClass() == Tuple2.class && isShort(((Tuple2<?, ?>) value)._1())
            && isShort(((Tuple2<?, ?>) value)._2());
    }

    private static boolean isBoxed(Class<?> type) {
        return type == Integer.class || type == Long.class || type == Double.class || type == Float.class
            || type == Short.class || type == Byte.class;
    }

    @Override
    public <T> SerializationStream writeObject(T value, ClassTag<T> tag) {
        try {
            write(value);
            return this;
        } catch (IOException e) {
            throw Sneaky.raise(e);
        }
    }

    private void write(Object value) throws IOException {
        if (value instanceof Integer number) {
            out.writeTagged(Plain.INTEGER, number);
        } else if (value instanceof byte[] bytes) {
            out.writeTagged(Plain.BYTES, bytes.length);
            out.write(bytes, 0, bytes.length);
        } else if (value instanceof Long number) {
            out.writeTagged(Plain.LONG, number);
        } else if (value instanceof String text) {
            writeText(text);
        } else if (value != null && value.getClass() == Tuple2.class) {
            out.write(Plain.TUPLE2);
            write(((Tuple2<?, ?>) value)._1());
            write(((Tuple2<?, ?>) value)._2());
        } else {
            writeRare(value);
        }
    }

    private void writeRare(Object value) throws IOException {
        if (value == null) {
            out.write(Plain.NULL);
        } else if (value instanceof Double number) {
            out.writeTagged(Plain.DOUBLE, Double.doubleToRawLongBits(number));
        } else if (value instanceof Boolean flag) {
            out.write(flag ? Plain.TRUE : Plain.FALSE);
        } else if (value instanceof Float number) {
            out.writeTagged(Plain.FLOAT, Float.floatToRawIntBits(number));
        } else if (value instanceof Short number) {
            out.writeTagged(Plain.SHORT, number.intValue());
        } else if (value instanceof Byte number) {
            out.writeTagged(Plain.BYTE, number.intValue());
        } else if (value instanceof Character letter) {
            out.writeTagged(Plain.CHARACTER, letter.charValue());
        } else {
            writeBelow(value);
        }
    }

    private void writeText(String text) throws IOException {
        int length = text.length();
        int all = 0;
        for (int i = 0; i < length; i++) {
            all |= text.charAt(i);
        }
        if (all < 256) {
            byte[] bytes = text.getBytes(StandardCharsets.ISO_8859_1);
            out.writeTagged(Plain.LATIN_TEXT, length);
            out.write(bytes, 0, length);
        } else {
            out.writeTagged(Plain.WIDE_TEXT, length);
            for (int i = 0; i < length; i++) {
                char letter = text.charAt(i);
                out.write(letter >> 8);
                out.write(letter);
            }
        }
    }

    /** Flushed after each value, so that a value's bytes lie together; the stream's state goes on. */
    private void writeBelow(Object value) throws IOException {
        boolean first = below == null;
        HeldValues.Scratch written = values.begin();
        try {
            if (first) {
                below = instance.serializeStream(written);
            }
            below.writeObject(value, ANY);
            below.flush();
        } finally {
            values.end();
        }
        out.writeTagged(relocatable ? Plain.ALONE : first && hadOne ? Plain.ANEW : Plain.OTHER, written.size());
        written.writeTo(out);
        hadOne = true;
        if (relocatable) {
            below = null;
        } else {
            values.add(this, first, written.size());
        }
    }

    /** Forgets the stream of the serializer below, with the values to which it refers. */
    void beginAnew() {
        below = null;
        held = 0;
    }

    @Override
    public void flush() {
        try {
            out.flush();
        } catch (IOException e) {
            throw Sneaky.raise(e);
        }
    }

    @Override
    public void close() {
        values.remove(this);
        below = null;
        try {
            out.close();
        } catch (IOException e) {
            throw Sneaky.raise(e);
        }
    }
}
