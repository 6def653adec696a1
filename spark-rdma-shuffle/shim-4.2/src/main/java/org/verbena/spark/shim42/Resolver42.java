// SPDX-License-Identifier: Apache-2.0
// The resolver's one method whose signature depends on the Scala version, for Spark 4.2.
package org.verbena.spark.shim42;

import java.util.function.Supplier;
import org.apache.spark.SparkConf;
import org.apache.spark.shuffle.IndexShuffleBlockResolver;
import org.apache.spark.shuffle.ShuffleBlockInfo;
import org.verbena.spark.ShuffleEngine;
import org.verbena.spark.read.VerbenaBlockResolver;
import scala.collection.immutable.Seq;

/** Thread safe. */
final class Resolver42 extends VerbenaBlockResolver {
    Resolver42(SparkConf conf, IndexShuffleBlockResolver stock, Supplier<ShuffleEngine> engine) {
        super(conf, stock, engine);
    }

    @Override
    public Seq<ShuffleBlockInfo> getStoredShuffles() {
        everythingToFiles();
        return super.getStoredShuffles();
    }
}
