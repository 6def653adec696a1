// SPDX-License-Identifier: Apache-2.0
// Spark SQL's rows, byte for byte as Spark's own serializer writes them, with fewer copies and calls.
package org.verbena.spark.serial;

import java.io.InputStream;
import java.io.OutputStream;
import java.lang.reflect.Field;
import java.nio.ByteBuffer;
import org.apache.spark.serializer.DeserializationStream;
import org.apache.spark.serializer.SerializationStream;
import org.apache.spark.serializer.Serializer;
import org.apache.spark.serializer.SerializerInstance;
import org.apache.spark.util.AccumulatorV2;
import scala.reflect.ClassTag;

/** Stands in for {@code UnsafeRowSerializer}: length as four bytes, then the row. Exists on executors only. */
final class RowSerializer extends Serializer {
    private final int fields;
    private final AccumulatorV2<Object, Object> dataSize;

    /**
     * Makes one that counts into the same metric, by which adaptive execution plans.
     *
     * @throws ReflectiveOperationException when this Spark's serializer has other fields
     */
    @SuppressWarnings("unchecked")
    RowSerializer(Serializer stock) throws ReflectiveOperationException {
        this.fields = (Integer) field(stock, "numFields");
        this.dataSize = (AccumulatorV2<Object, Object>) field(stock, "dataSize");
    }

    private static Object field(Serializer of, String name) throws ReflectiveOperationException {
        Field field = of.getClass().getDeclaredField(name);
        field.setAccessible(true);
        return field.get(of);
    }

    @Override
    public SerializerInstance newInstance() {
        return new Instance();
    }

    @Override
    public boolean supportsRelocationOfSerializedObjects() {
        return true;
    }

    /** Belongs to one thread, as Spark says. */
    private final class Instance extends SerializerInstance {
        private final BlockInput.Spare spare = new BlockInput.Spare();

        @Override
        public SerializationStream serializeStream(OutputStream out) {
            return new RowWriter(SinkOver.of(out), dataSize);
        }

        @Override
        public DeserializationStream deserializeStream(InputStream in) {
            return new RowReader(fields, spare, in);
        }

        @Override
        public <T> ByteBuffer serialize(T value, ClassTag<T> tag) {
            throw new UnsupportedOperationException("rows are written to streams only");
        }

        @Override
        public <T> T deserialize(ByteBuffer bytes, ClassTag<T> tag) {
            throw new UnsupportedOperationException("rows are read from streams only");
        }

        @Override
        public <T> T deserialize(ByteBuffer bytes, ClassLoader loader, ClassTag<T> tag) {
            throw new UnsupportedOperationException("rows are read from streams only");
        }
    }
}
