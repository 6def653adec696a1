// SPDX-License-Identifier: Apache-2.0
// The tab "Verbena" of applications that have ended, in the history server of every Spark.
package org.verbena.spark.shim35;

import java.util.NoSuchElementException;
import org.apache.spark.SparkConf;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerEvent;
import org.apache.spark.status.AppHistoryServerPlugin;
import org.apache.spark.status.ElementTrackingStore;
import org.apache.spark.ui.SparkUI;
import org.apache.spark.util.kvstore.KVIndex;
import org.verbena.spark.compat.SparkShim;
import org.verbena.spark.metrics.LoggedReports;
import org.verbena.spark.ui.TrafficPage;
import scala.collection.immutable.Nil$;
import scala.collection.immutable.Seq;

/**
 * Found by the service loader of the history server that has the jar on its class path. Compiled with Scala 2.12, and the
 * result of createListeners is immutable.Seq: so the class has the method both of Scala 2.12 and, by that name, of 2.13.
 */
public final class HistoryTab implements AppHistoryServerPlugin {
    /** Called by the service loader. */
    public HistoryTab() {
    }

    /** The event as the history server keeps it; one per application. */
    public static final class Kept {
        /** The key. */
        @KVIndex
        public String id = Kept.class.getSimpleName();
        /** What the event log had. */
        public LoggedReports reports;

        /** For the store. */
        public Kept() {
        }

        private Kept(LoggedReports reports) {
            this.reports = reports;
        }
    }

    private static final class Listener extends SparkListener {
        private final ElementTrackingStore store;

        Listener(ElementTrackingStore store) {
            this.store = store;
        }

        @Override
        public void onOtherEvent(SparkListenerEvent event) {
            if (event instanceof LoggedReports reports) {
                store.write(new Kept(reports));
            }
        }
    }

    @Override
    public Seq<SparkListener> createListeners(SparkConf conf, ElementTrackingStore store) {
        return Nil$.MODULE$.<SparkListener>$colon$colon(new Listener(store));
    }

    @Override
    public void setupUI(SparkUI ui) {
        SparkShim shim = SparkShim.load();
        if (shim == null) {
            return;
        }
        try {
            LoggedReports kept = ui.store().store().read(Kept.class, Kept.class.getSimpleName()).reports;
            ui.attachTab(shim.newTab(ui, () -> TrafficPage.html(kept.declined, kept.restored())));
        } catch (NoSuchElementException e) {
            org.slf4j.LoggerFactory.getLogger(HistoryTab.class).debug("an application without Verbena", e);
        } catch (Exception e) {
            org.slf4j.LoggerFactory.getLogger(HistoryTab.class).warn("no tab for this application", e);
        }
    }
}
