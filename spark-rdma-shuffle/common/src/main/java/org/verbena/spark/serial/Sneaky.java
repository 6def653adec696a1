// SPDX-License-Identifier: Apache-2.0
// Spark's serializer interfaces throw IOException without declaring it, as Scala may.
package org.verbena.spark.serial;

/** {@code throw Sneaky.raise(e)} throws e itself. */
final class Sneaky {
    private Sneaky() {
    }

    @SuppressWarnings("unchecked")
    static <E extends Throwable> RuntimeException raise(Throwable cause) throws E {
        throw (E) cause;
    }
}
