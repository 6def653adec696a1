// SPDX-License-Identifier: Apache-2.0
package org.verbena.core;

import java.util.Arrays;

/** The operations that native code knows, by token (index + 1); grows up to a limit. Engine thread. */
final class InFlight {
    static final int LIMIT = 16384;

    private Operation[] operations = new Operation[256];
    private int[] free = new int[256];
    private int freeCount;
    private int used;

    /** Returns a token for the operation, 0 when there are too many. */
    long add(Operation op) {
        int index;
        if (freeCount > 0) {
            index = free[--freeCount];
        } else {
            if (used == LIMIT) {
                return 0;
            }
            if (used == operations.length) {
                operations = Arrays.copyOf(operations, used * 2);
                free = Arrays.copyOf(free, used * 2);
            }
            index = used++;
        }
        operations[index] = op;
        return index + 1L;
    }

    /** Takes out the operation of a token; null when there is none. */
    Operation remove(long token) {
        int index = (int) token - 1;
        if (index < 0 || index >= used || operations[index] == null) {
            return null;
        }
        Operation op = operations[index];
        operations[index] = null;
        free[freeCount++] = index;
        return op;
    }

    /** Highest token ever given out. */
    int highest() {
        return used;
    }
}
