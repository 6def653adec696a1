// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.lustre.buffer;

/** Told each step that leaves something behind, so that tests end the process there. */
@FunctionalInterface
public interface Steps {
    /** Nobody listens. */
    Steps NONE = what -> { };

    /** After the step. */
    void at(String what);
}
