// SPDX-License-Identifier: Apache-2.0
// Java serialisation of a shuffle, with a short form for boxed primitives, strings, byte arrays and pairs.
package org.verbena.spark.serial;

import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import org.apache.spark.serializer.DeserializationStream;
import org.apache.spark.serializer.SerializationStream;
import org.apache.spark.serializer.Serializer;
import org.apache.spark.serializer.SerializerInstance;
import scala.reflect.ClassTag;

/**
 * Values of the types in {@link Plain} are written by themselves and come back as equal values of the same class;
 * everything else goes through the serializer below, in one stream per block as before. Spark itself does the same for
 * such types (with Kryo) where it knows them at compile time. Exists on executors only, is never sent.
 */
final class PlainSerializer extends Serializer {
    private final Serializer below;

    PlainSerializer(Serializer below) {
        this.below = below;
    }

    @Override
    public SerializerInstance newInstance() {
        return new Instance(below.newInstance(), false);
    }

    /** Like {@link #newInstance}, but the records of its streams may be put in any order, and in several streams. */
    SerializerInstance newRelocatable() {
        return new Instance(below.newInstance(), true);
    }

    @Override
    public boolean supportsRelocationOfSerializedObjects() {
        return below.supportsRelocationOfSerializedObjects();
    }

    /** The values that streams of an instance refer to; null when it is none of ours. */
    static HeldValues values(SerializerInstance instance) {
        return instance instanceof Instance ours ? ours.values : null;
    }

    /** Belongs to one thread, as Spark says. */
    private static final class Instance extends SerializerInstance {
        private final SerializerInstance below;
        private final boolean relocatable;
        private final BlockInput.Spare spare = new BlockInput.Spare();
        private final HeldValues values = new HeldValues();

        Instance(SerializerInstance below, boolean relocatable) {
            this.below = below;
            this.relocatable = relocatable;
        }

        @Override
        public SerializationStream serializeStream(OutputStream out) {
            return new PlainWriter(below, SinkOver.of(out), relocatable, values);
        }

        @Override
        public DeserializationStream deserializeStream(InputStream in) {
            return new PlainReader(below, spare, in);
        }

        @Override
        public <T> ByteBuffer serialize(T value, ClassTag<T> tag) {
            return below.serialize(value, tag);
        }

        @Override
        public <T> T deserialize(ByteBuffer bytes, ClassTag<T> tag) {
            return below.deserialize(bytes, tag);
        }

        @Override
        public <T> T deserialize(ByteBuffer bytes, ClassLoader loader, ClassTag<T> tag) {
            return below.deserialize(bytes, loader, tag);
        }
    }
}
