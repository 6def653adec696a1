// SPDX-License-Identifier: Apache-2.0
// Makes Spark follow spark.shuffle.compress where it has read that setting before plugins start.
package org.verbena.spark;

import java.lang.reflect.Field;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.serializer.SerializerManager;

/**
 * In local mode the driver's environment is the executor's, too, and its serializer manager is older than the plugin: it would
 * go on compressing, and the sizes that adaptive execution plans with would be those of bytes compressed twice.
 */
final class ShuffleCompression {
    private static final String KEY = "spark.shuffle.compress";
    private static final Field COMPRESSES = field();

    private ShuffleCompression() {
    }

    private static Field field() {
        try {
            Field field = SerializerManager.class.getDeclaredField("compressShuffle");
            field.setAccessible(true);
            return field.getType() == boolean.class ? field : null;
        } catch (NoSuchFieldException | RuntimeException e) {
            return null; // another Spark
        }
    }

    /** Whether tasks run in the driver's process. */
    static boolean isLocal(SparkConf conf) {
        String master = conf.get("spark.master", "");
        return master.startsWith("local") && !master.startsWith("local-cluster");
    }

    /** Whether a change of the setting by the driver reaches the tasks. */
    static boolean canFollow(SparkConf conf) {
        return !isLocal(conf) || COMPRESSES != null;
    }

    /** To be called before tasks use the environment's shuffle. */
    static void follow(SparkEnv env, SparkConf conf) {
        if (env == null || env.conf() != conf || !isLocal(conf) || COMPRESSES == null) {
            return;
        }
        try {
            COMPRESSES.setBoolean(env.serializerManager(), conf.getBoolean(KEY, true));
        } catch (IllegalAccessException e) {
            throw new IllegalStateException("cannot make Spark follow " + KEY + ": " + e, e);
        }
    }
}
