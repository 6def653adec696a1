// SPDX-License-Identifier: Apache-2.0
// The few calls whose signatures differ between Spark versions.
package org.verbena.spark.compat;

import java.util.Locale;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.SparkConf;
import org.apache.spark.network.BlockTransferService;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.shuffle.IndexShuffleBlockResolver;
import org.apache.spark.storage.BlockManagerId;
import org.apache.spark.ui.SparkUI;
import org.apache.spark.ui.WebUITab;
import org.verbena.spark.read.FetchClient;
import org.verbena.spark.read.SlabAccess;
import org.verbena.spark.read.VerbenaBlockTransferService;
import org.verbena.spark.ui.VerbenaTab;
import scala.Option;

/** Implemented once per Spark line, chosen by {@link #load} at run time. Thread safe. */
public interface SparkShim {
    /** The versions for which there is a shim, for messages. */
    String KNOWN = "3.5 and 4.0 to 4.3 are, as Apache releases them";

    /** Of a release, or of what comes before one. */
    Pattern APACHE = Pattern.compile("[0-9]+\\.[0-9]+\\.[0-9]+(-SNAPSHOT|-preview[0-9]*|-rc[0-9]+)?");

    /** Spark's checksums over rows (4.x), to be told of every record. */
    interface RowChecksums {
        /** Takes one record of a partition. */
        void update(int partition, Object key, Object value);

        /** The value for the map status. */
        long value();
    }

    /**
     * Makes a block resolver that knows the engine's slabs and implements {@link org.verbena.spark.store.ShuffleFiles}.
     *
     * @param stock the resolver of the superclass, whose table of stock map outputs is shared
     * @param engine gives the engine, or null while there is none
     */
    IndexShuffleBlockResolver newResolver(SparkConf conf, IndexShuffleBlockResolver stock,
        Supplier<SlabAccess> engine);

    /** Makes a transfer service that fetches by the client where it can and hands the rest to inner. */
    default BlockTransferService newTransferService(BlockTransferService inner, FetchClient client) {
        return new VerbenaBlockTransferService(inner, client);
    }

    /**
     * Makes the calls that differ between versions, as far as they need no task.
     *
     * @throws LinkageError when this Spark has others
     */
    default void tryOut() {
        mapStatus(BlockManagerId.apply("driver", "localhost", 1, Option.empty()), new long[] {1}, 0, null);
    }

    /** Makes a map status; checksums are what {@link #rowChecksums} gave. */
    MapStatus mapStatus(BlockManagerId location, long[] lengths, long mapId, RowChecksums checksums);

    /** The dependency's checksums over rows, or null when it wants none. */
    default RowChecksums rowChecksums(ShuffleDependency<?, ?, ?> dependency) {
        return null;
    }

    /**
     * Makes the tab of Spark's UI; the caller attaches it.
     *
     * @param html gives the content, from any thread
     */
    default WebUITab newTab(SparkUI ui, Supplier<String> html) {
        return new VerbenaTab(ui, html);
    }

    /** The running Spark's version. */
    static String sparkVersion() {
        return org.apache.spark.package$.MODULE$.SPARK_VERSION();
    }

    /** The shim's number for the running Spark, null when none is known to fit. */
    static String line() {
        return line(sparkVersion(), scala.util.Properties.versionNumberString());
    }

    /**
     * The shim's number for a Spark version, null when none is known to fit. A vendor's build, which says so behind the number
     * (3.5.5-amzn-0), may have another shuffle inside, and is not known.
     *
     * @param scala the version of Scala that this Spark was built with; 3.5 exists for two
     */
    static String line(String version, String scala) {
        String[] parts = version.split("\\.", 3);
        return !APACHE.matcher(version).matches() ? null : switch (parts[0] + "." + parts[1]) {
            case "3.5" -> scala.startsWith("2.12.") ? "35" : "40";
            case "4.0" -> "40";
            case "4.1", "4.2" -> "42";
            case "4.3" -> "43";
            default -> null;
        };
    }

    /**
     * Chooses the shim.
     *
     * @return null when this Spark is not known
     */
    static SparkShim load() {
        String line = line();
        if (line == null) {
            return null;
        }
        String name = String.format(Locale.ROOT, "org.verbena.spark.shim%s.Shim%s", line, line);
        try {
            return (SparkShim) Class.forName(name, true, SparkShim.class.getClassLoader())
                .getDeclaredConstructor().newInstance();
        } catch (ReflectiveOperationException | LinkageError e) {
            org.slf4j.LoggerFactory.getLogger(SparkShim.class).debug("no {}", name, e);
            return null;
        }
    }
}
