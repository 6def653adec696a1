// SPDX-License-Identifier: Apache-2.0
// Spark's page frame, whose number of parameters differs between versions.
package org.verbena.spark.ui;

import java.lang.reflect.Method;
import org.apache.spark.ui.SparkUITab;
import org.apache.spark.ui.UIUtils$;
import scala.Function0;
import scala.xml.Unparsed;

/** Head, tabs and foot around a page's own HTML. */
public final class SparkFrame {
    private static final String METHOD = "headerSparkPage";
    private static final int OWN_PARAMETERS = 4;

    private SparkFrame() {
    }

    /**
     * The whole page.
     *
     * @param request of javax or jakarta, whichever this Spark uses
     * @return a sequence of nodes of this Spark's Scala
     */
    public static Object around(Object request, SparkUITab tab, String html) {
        Object content = scala.collection.immutable.Nil$.MODULE$.$colon$colon(new Unparsed(html));
        try {
            for (Method method : UIUtils$.class.getMethods()) {
                if (method.getName().equals(METHOD)) {
                    Object[] arguments = new Object[method.getParameterCount()];
                    arguments[0] = request;
                    arguments[1] = "Verbena";
                    arguments[2] = (Function0<Object>) () -> content;
                    arguments[3] = tab;
                    for (int i = OWN_PARAMETERS; i < arguments.length; i++) {
                        arguments[i] = UIUtils$.class.getMethod(METHOD + "$default$" + (i + 1)).invoke(UIUtils$.MODULE$);
                    }
                    return method.invoke(UIUtils$.MODULE$, arguments);
                }
            }
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException("this Spark's page frame is not known", e);
        }
        throw new IllegalStateException("this Spark has no " + METHOD);
    }
}
