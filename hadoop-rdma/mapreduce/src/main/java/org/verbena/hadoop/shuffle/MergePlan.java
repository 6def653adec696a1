// SPDX-License-Identifier: Apache-2.0
// When a reducer merges kept map outputs before the last one has come.
package org.verbena.hadoop.shuffle;

/**
 * A merge of many segments compares more for each record, and does so in memory that the processor's caches do not hold. Groups of
 * {@link #GROUP} segments become one while maps still run, so that the last merge has few open. That takes memory for the records a
 * second time: no merge takes what map outputs may still want.
 */
final class MergePlan {
    /** Segments that become one. */
    static final int GROUP = 64;
    /** So many maps are merged at the end as fast as by groups. */
    static final int FEW = 8 * GROUP;

    private final int maps;

    /** maps: of the job. */
    MergePlan(int maps) {
        this.maps = maps;
    }

    /**
     * Whether a group may be merged now.
     *
     * @param came map outputs that are kept, merged ones included
     * @param bytes of these
     * @param group bytes of the group
     * @param left bytes of the reducer's memory that nothing has taken
     */
    boolean allows(int came, long bytes, long group, long left) {
        if (maps <= FEW || group > Integer.MAX_VALUE || came == 0) {
            return false;
        }
        double expected = (double) Math.max(0, maps - came) * bytes / came;
        return group + expected <= left;
    }
}
