// SPDX-License-Identifier: Apache-2.0
// What Spark knows of the executor in this process and shows nobody.
package org.verbena.spark;

import java.lang.reflect.Field;
import org.apache.spark.SparkEnv;
import org.apache.spark.resource.ResourceProfile;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Fields of its backend. A driver has none, and a Spark may keep it elsewhere: then nothing is known. */
final class OwnBackend {
    private static final Logger LOG = LoggerFactory.getLogger(OwnBackend.class);

    private OwnBackend() {
    }

    /** Null where it is the default profile, or not known. */
    static ResourceProfile profile() {
        return field("resourceProfile") instanceof ResourceProfile profile
            && profile.id() != ResourceProfile.DEFAULT_RESOURCE_PROFILE_ID() ? profile : null;
    }

    /** Cores that the cluster manager has given to this executor; 0 where they are not known. */
    static int cores() {
        return field("cores") instanceof Integer cores ? cores : 0;
    }

    private static Object field(String name) {
        try {
            return field(SparkEnv.get(), name);
        } catch (LinkageError e) { // a Spark whose environment does not know its backend
            LOG.debug("{} of this executor is not known", name, e);
            return null;
        }
    }

    private static Object field(SparkEnv env, String name) {
        Object backend = env == null || env.executorBackend().isEmpty() ? null : env.executorBackend().get();
        for (Class<?> type = backend == null ? null : backend.getClass(); type != null; type = type.getSuperclass()) {
            try {
                Field field = type.getDeclaredField(name);
                field.setAccessible(true);
                return field.get(backend);
            } catch (NoSuchFieldException e) {
                continue; // a superclass's
            } catch (ReflectiveOperationException | RuntimeException e) {
                return null;
            }
        }
        return null;
    }
}
