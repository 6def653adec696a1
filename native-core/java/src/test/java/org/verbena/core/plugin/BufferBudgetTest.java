// SPDX-License-Identifier: Apache-2.0
package org.verbena.core.plugin;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class BufferBudgetTest {
    private static final int KIB = 1 << 10;
    private static final int LEAST = 16 * KIB;

    private static BufferBudget of(int kib) {
        return new BufferBudget((long) kib * KIB, 0, 64L * KIB);
    }

    private static List<ByteBuffer> takeAll(BufferBudget.Share share) {
        List<ByteBuffer> all = new ArrayList<>();
        for (ByteBuffer one = share.take(4 * KIB); one != null; one = share.take(4 * KIB)) {
            all.add(one);
        }
        return all;
    }

    @Test
    void holdersThatKeepAllTheyGetLeaveSomeForTheNextOne() {
        BufferBudget budget = of(131072);
        BufferBudget.Share first = budget.share(LEAST);
        takeAll(first);
        assertEquals(16 + 7280, first.held() / KIB, "a ninth of the rest, an eighth of what is free then");
        for (int i = 0; i < 100; i++) {
            takeAll(budget.share(LEAST));
        }
        assertTrue(budget.used() > budget.bound() / 3, "used " + budget.used());
        BufferBudget.Share last = budget.share(LEAST);
        takeAll(last);
        assertTrue(last.held() > LEAST, "held " + last.held());
        assertTrue(budget.used() <= budget.bound(), "used " + budget.used());
    }

    @Test
    void theLeastIsThereWhateverOthersHold() {
        BufferBudget budget = of(0);
        for (int i = 0; i < 8; i++) {
            BufferBudget.Share share = budget.share(LEAST);
            assertEquals(LEAST, share.certain());
            List<ByteBuffer> all = takeAll(share);
            assertEquals(LEAST, share.held());
            assertEquals(0, share.certain());
            share.give(all.get(0));
            assertEquals(4 * KIB, share.certain());
            assertNotNull(share.take(4 * KIB));
        }
        assertEquals(8 * LEAST, budget.used());
    }

    @Test
    void asManyBytesAsThereAreMemoryFor() {
        BufferBudget.Share share = of(0).share(LEAST);
        ByteBuffer most = share.takeUpTo(100 * KIB);
        assertEquals(LEAST, most.remaining());
        assertNull(share.takeUpTo(1));
        share.give(most);
        ByteBuffer asked = share.takeUpTo(5000);
        assertEquals(5000, asked.remaining());
        assertEquals(10 * KIB, share.takeUpTo(LEAST).remaining(), "11 KiB are left, the next smaller size is 10");
    }

    @Test
    void whatIsForcedAndWhatIsLentIsCounted() {
        BufferBudget budget = of(128);
        BufferBudget.Share share = budget.share(LEAST);
        assertTrue(budget.lend(64 * KIB));
        assertFalse(budget.lend(1), "beyond what is lendable");
        ByteBuffer forced = share.force(64 * KIB);
        assertEquals(128 * KIB, budget.used());
        assertNull(share.take(1));
        share.give(forced);
        assertTrue(budget.lend(-64 * KIB));
        assertEquals(0, budget.used());
    }

    @Test
    void theLeastOfAClosedShareIsForOthersAndItsBuffersStillComeBack() {
        BufferBudget budget = of(512);
        BufferBudget.Share closed = budget.share(448 * KIB);
        BufferBudget.Share other = budget.share(0);
        assertEquals(8 * KIB, other.takeUpTo(64 * KIB).remaining());
        ByteBuffer held = closed.take(16 * KIB);
        closed.close();
        closed.close();
        assertEquals(16 * KIB, other.takeUpTo(64 * KIB).remaining());
        closed.give(held);
        assertEquals(24 * KIB, budget.used());
    }

    @Test
    void whoHasSomethingWaitsForItWhenTheJvmHasNoMore() {
        long[] left = {8 * KIB};
        BufferBudget budget = new BufferBudget(1 << 20, 0, 0, size -> {
            if (size > left[0]) {
                throw new OutOfMemoryError("direct buffer memory");
            }
            left[0] -= size;
            return ByteBuffer.allocate(size);
        });
        BufferBudget.Share share = budget.share(LEAST);
        ByteBuffer held = share.take(8 * KIB);
        assertNull(share.take(4 * KIB));
        assertEquals(8 * KIB, budget.bound(), "what it has");
        assertThrows(OutOfMemoryError.class, () -> budget.share(LEAST).take(4 * KIB));
        assertEquals(8 * KIB, budget.used());
        share.give(held);
        assertEquals(0, budget.used());
    }

    @Test
    void buffersOfOtherSizesAreLetGoRatherThanKeptBeyondTheBound() {
        BufferBudget budget = new BufferBudget(64L * KIB, 64L * KIB, 0);
        BufferBudget.Share share = budget.share(64 * KIB);
        for (int kib : new int[] {4, 8, 16, 32, 64}) {
            ByteBuffer one = share.take(kib * KIB);
            assertTrue(budget.used() + budget.kept() <= budget.bound(), kib + " KiB: " + budget.kept() + " kept");
            share.give(one);
        }
    }
}
