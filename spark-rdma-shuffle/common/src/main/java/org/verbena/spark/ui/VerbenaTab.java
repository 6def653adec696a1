// SPDX-License-Identifier: Apache-2.0
// The tab "Verbena" in the UI of Spark 4.
package org.verbena.spark.ui;

import jakarta.servlet.http.HttpServletRequest;
import java.util.function.Supplier;
import org.apache.spark.ui.SparkUI;
import org.apache.spark.ui.SparkUITab;
import org.apache.spark.ui.WebUIPage;
import scala.collection.immutable.Seq;
import scala.xml.Node;

/** Access is granted as for Spark's own tabs. */
public final class VerbenaTab extends SparkUITab {
    /**
     * Made once per application; the caller attaches it.
     *
     * @param html gives the page's content, from any thread
     */
    public VerbenaTab(SparkUI ui, Supplier<String> html) {
        super(ui, "verbena");
        attachPage(new Page(this, html));
    }

    private static final class Page extends WebUIPage {
        private final SparkUITab tab;
        private final Supplier<String> html;

        Page(SparkUITab tab, Supplier<String> html) {
            super("");
            this.tab = tab;
            this.html = html;
        }

        @Override
        @SuppressWarnings("unchecked")
        public Seq<Node> render(HttpServletRequest request) {
            return (Seq<Node>) SparkFrame.around(request, tab, html.get());
        }
    }
}
