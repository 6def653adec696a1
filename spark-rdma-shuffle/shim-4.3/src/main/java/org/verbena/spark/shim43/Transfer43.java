// SPDX-License-Identifier: Apache-2.0
// Block uploads of Spark 4.3, by Spark's own transport.
package org.verbena.spark.shim43;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import org.apache.spark.network.BlockTransferService;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.StorageLevel;
import org.verbena.spark.read.FetchClient;
import org.verbena.spark.read.VerbenaBlockTransferService;
import scala.Option;
import scala.concurrent.Future;
import scala.reflect.ClassTag;
import scala.runtime.BoxedUnit;

/**
 * Spark 4.3 gave uploadBlock two more parameters. Its jars are compiled against when they are on Maven Central; until
 * then this class is compiled against 4.2, has both methods, and calls the new one by a method handle. Thread safe.
 */
final class Transfer43 extends VerbenaBlockTransferService {
    private final MethodHandle upload;

    Transfer43(BlockTransferService inner, FetchClient client) {
        super(inner, client);
        MethodType type = MethodType.methodType(Future.class, String.class, int.class, String.class, BlockId.class,
            ManagedBuffer.class, StorageLevel.class, ClassTag.class, Option.class, boolean.class);
        try {
            upload = MethodHandles.publicLookup().findVirtual(BlockTransferService.class, "uploadBlock", type);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException("this Spark does not have the uploadBlock of 4.3", e);
        }
    }

    /** Implements the abstract method of 4.3. */
    @SuppressWarnings("unchecked")
    public Future<BoxedUnit> uploadBlock(String host, int port, String executor, BlockId block, ManagedBuffer data,
            StorageLevel level, ClassTag<?> tag, Option<Object> eighth, boolean ninth) {
        try {
            return (Future<BoxedUnit>) upload.invoke(inner(), host, port, executor, block, data, level, tag, eighth,
                ninth);
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new IllegalStateException(e);
        }
    }

    /** Of 4.2, which nothing calls on 4.3. */
    @Override
    public Future<BoxedUnit> uploadBlock(String host, int port, String executor, BlockId block, ManagedBuffer data,
            StorageLevel level, ClassTag<?> tag) {
        return uploadBlock(host, port, executor, block, data, level, tag, Option.empty(), false);
    }
}
