// SPDX-License-Identifier: Apache-2.0
// One row of the catalogue as the generator sees it: prepared once, run once per block.
package org.verbena.ohb.spark;

/** A measured job. Called from the generator's main thread only. */
interface Job {
    /** Makes and caches the input; not measured. */
    void prepare();

    /**
     * Runs the job once.
     *
     * @param seed varies what the job generates itself; the same seed gives the same result on every side
     * @return the checksum of the whole result
     */
    ContentSum run(long seed);

    /** Frees what {@link #prepare} cached. */
    void release();
}
