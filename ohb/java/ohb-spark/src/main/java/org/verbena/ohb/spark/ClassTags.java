// SPDX-License-Identifier: Apache-2.0
// What a Scala compiler knows about the pairs of a job, and a Java compiler does not.
package org.verbena.ohb.spark;

import org.apache.spark.api.java.JavaPairRDD;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;

/**
 * Parameter tags of a row. With scala, pairs have the class tags that a Scala program gives them: Spark then shuffles primitives,
 * strings and arrays of primitives by Kryo, without any setting. With java, the default, the tags say nothing, and Spark takes Java
 * serialisation, as it does for a program in Java.
 */
final class ClassTags {
    /** Boxed values have the tag of the primitive type, as in Scala. */
    static final ClassTag<Integer> INT = boxed(ClassTag$.MODULE$.Int());
    static final ClassTag<Long> LONG = boxed(ClassTag$.MODULE$.Long());
    static final ClassTag<byte[]> BYTES = ClassTag$.MODULE$.apply(byte[].class);
    static final ClassTag<int[]> INTS = ClassTag$.MODULE$.apply(int[].class);

    private final boolean known;

    ClassTags(Params params) {
        String of = params.text("tags", "java");
        if (!of.equals("scala") && !of.equals("java")) {
            throw new IllegalArgumentException("parameter tags=" + of + " must be scala or java");
        }
        known = of.equals("scala");
    }

    @SuppressWarnings("unchecked")
    private static <T> ClassTag<T> boxed(ClassTag<?> primitive) {
        return (ClassTag<T>) primitive;
    }

    /** The same pairs, with these tags if the row wants them. */
    <K, V> JavaPairRDD<K, V> on(JavaPairRDD<K, V> pairs, ClassTag<K> key, ClassTag<V> value) {
        return known ? JavaPairRDD.fromRDD(pairs.rdd(), key, value) : pairs;
    }
}
