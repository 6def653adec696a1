// SPDX-License-Identifier: Apache-2.0
// Chooses a faster serializer for a shuffle where we have one.
package org.verbena.spark.serial;

import java.lang.reflect.Field;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.serializer.JavaSerializer;
import org.apache.spark.serializer.Serializer;
import org.apache.spark.serializer.SerializerInstance;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.Product2;

/**
 * Works on the executor's copy of a dependency, when a task asks for its writer or reader: no class of ours travels with
 * the tasks. Every executor decides by the class of the serializer alone, so that writers and readers agree.
 */
public final class Serializers {
    private static final Logger LOG = LoggerFactory.getLogger(Serializers.class);
    private static final String ROWS = "org.apache.spark.sql.execution.UnsafeRowSerializer";
    private static final Field SERIALIZER = serializerField();

    private Serializers() {
    }

    private static Field serializerField() {
        try {
            Field field = ShuffleDependency.class.getDeclaredField("serializer");
            field.setAccessible(true);
            return field;
        } catch (ReflectiveOperationException | RuntimeException e) {
            LOG.info("Spark's serializers are used as they are: {}", e.toString());
            return null;
        }
    }

    /** Whether a dependency moves SQL's rows, whose sizes adaptive execution plans with. */
    public static boolean areRows(ShuffleDependency<?, ?, ?> dependency) {
        Serializer serializer = dependency.serializer();
        return serializer instanceof RowSerializer || serializer.getClass().getName().equals(ROWS);
    }

    /** Whether an open stream of it takes next to no memory, but for values that {@link #values} counts. */
    public static boolean isLight(Serializer serializer) {
        return serializer instanceof PlainSerializer || serializer instanceof RowSerializer
            || serializer.getClass().getName().equals(ROWS);
    }

    /** The values to which open streams of an instance refer; null when its streams keep none, or are not ours. */
    public static HeldValues values(SerializerInstance instance) {
        return PlainSerializer.values(instance);
    }

    /**
     * For streams whose records may be put in any order and in several streams, as far as a first record tells.
     *
     * @return null when the serializer cannot do that, or only with much more bytes than in one stream
     */
    public static SerializerInstance relocatable(ShuffleDependency<?, ?, ?> dependency, Product2<?, ?> first) {
        Serializer serializer = dependency.serializer();
        if (serializer instanceof PlainSerializer plain) {
            return PlainWriter.isShort(first._1()) && PlainWriter.isShort(first._2()) ? plain.newRelocatable() : null;
        }
        return serializer.supportsRelocationOfSerializedObjects() ? serializer.newInstance() : null;
    }

    /** Java serialisation with a short form for simple values. */
    public static Serializer shortForm(Serializer java) {
        return new PlainSerializer(java);
    }

    /** Replaces Java serialisation and Spark SQL's row serializer; leaves all others, subclasses too, as they are. */
    public static void replace(ShuffleDependency<?, ?, ?> dependency) {
        Serializer stock = dependency.serializer();
        if (SERIALIZER == null) {
            return;
        }
        try {
            if (stock.getClass() == JavaSerializer.class) {
                SERIALIZER.set(dependency, shortForm(stock));
            } else if (stock.getClass().getName().equals(ROWS)) {
                SERIALIZER.set(dependency, new RowSerializer(stock));
            }
        } catch (ReflectiveOperationException | LinkageError e) {
            LOG.debug("the serializer {} is used as it is: {}", stock.getClass().getName(), e.toString());
        }
    }
}
