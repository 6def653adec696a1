// SPDX-License-Identifier: Apache-2.0
package org.verbena.ohb.spark;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.SparkConf;
import org.apache.spark.shuffle.ShuffleHandle;
import org.apache.spark.shuffle.sort.SortShuffleManager;

/** Spark's shuffle manager, which notes the serializer of each shuffle. */
public final class NotingManager extends SortShuffleManager {
    static final Set<String> SERIALIZERS = ConcurrentHashMap.newKeySet();

    /** Made by Spark. */
    public NotingManager(SparkConf conf) {
        super(conf);
    }

    @Override
    public <K, V, C> ShuffleHandle registerShuffle(int id, ShuffleDependency<K, V, C> dependency) {
        SERIALIZERS.add(dependency.serializer().getClass().getSimpleName());
        return super.registerShuffle(id, dependency);
    }
}
