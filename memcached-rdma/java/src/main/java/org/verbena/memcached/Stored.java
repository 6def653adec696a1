// SPDX-License-Identifier: Apache-2.0
package org.verbena.memcached;

/** How a request to store ended. */
public enum Stored {
    /** The value is stored. */
    STORED,
    /** The condition of add, replace, append or prepend did not hold. */
    NOT_STORED,
    /** The item has another CAS id. */
    EXISTS,
    /** There is no item with the key. */
    NOT_FOUND
}
