// SPDX-License-Identifier: Apache-2.0
// The tab "Verbena" in the UI of Spark 3.5.
package org.verbena.spark.shim35;

import java.util.function.Supplier;
import javax.servlet.http.HttpServletRequest;
import org.apache.spark.ui.SparkUI;
import org.apache.spark.ui.SparkUITab;
import org.apache.spark.ui.WebUIPage;
import org.verbena.spark.ui.SparkFrame;
import scala.collection.Seq;
import scala.xml.Node;

/** Access is granted as for Spark's own tabs. */
final class Tab35 extends SparkUITab {
    /**
     * Made once per application; the caller attaches it.
     *
     * @param html gives the page's content, from any thread
     */
    Tab35(SparkUI ui, Supplier<String> html) {
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
