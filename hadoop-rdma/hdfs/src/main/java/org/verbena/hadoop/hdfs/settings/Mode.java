// SPDX-License-Identifier: Apache-2.0
// Where a cluster keeps its replicas.
package org.verbena.hadoop.hdfs.settings;

/** The values of {@code verbena.hdfs.mode}. */
public enum Mode {
    /** As Hadoop does. */
    OFF("off"),
    /** One replica in memory, one on a solid-state disk, the others on disks. */
    HHH("hhh"),
    /** All replicas in memory. */
    HHH_M("hhh-m"),
    /** One replica on a path that all DataNodes share, the others as HHH. */
    HHH_L("hhh-l");

    private final String word;

    Mode(String word) {
        this.word = word;
    }

    /** The mode of a value that is known to be one. */
    static Mode of(String word) {
        for (Mode mode : values()) {
            if (mode.word.equals(word)) {
                return mode;
            }
        }
        throw new IllegalArgumentException(word);
    }

    /** As settings name it. */
    @Override
    public String toString() {
        return word;
    }
}
