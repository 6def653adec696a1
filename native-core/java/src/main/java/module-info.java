// SPDX-License-Identifier: Apache-2.0
/** Verbena's native core for Java. Works on the class path as well; on the module path only what it exports is visible. */
module org.verbena.core {
    requires org.jctools.core;
    requires static jdk.management; // the size of direct memory; the benchmark counts allocated bytes
    requires static jdk.unsupported; // addresses of direct buffers without a native call (class Raw)

    exports org.verbena.core;
    exports org.verbena.core.greeting;
    exports org.verbena.core.plugin;
    exports org.verbena.core.stream;
}
