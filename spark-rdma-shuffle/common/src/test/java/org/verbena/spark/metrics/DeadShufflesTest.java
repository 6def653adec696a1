// SPDX-License-Identifier: Apache-2.0
// How often executors may make the driver collect its garbage.
package org.verbena.spark.metrics;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Map;
import org.junit.jupiter.api.Test;

class DeadShufflesTest {
    private static final long SECOND = 1_000_000_000L;
    private long now = Long.MAX_VALUE - SECOND; // nanoTime may overflow
    private long lasts;
    private int collections;
    private long removed;
    private final DeadShuffles dead = new DeadShuffles(true, () -> {
        collections++;
        now += lasts;
    }, Runnable::run, () -> now);

    private int askedAfter(long nanos) {
        now += nanos;
        dead.take(DeadShuffles.question("1", removed));
        return collections;
    }

    @Test
    void aQuestionIsAnsweredByACollectionAndTheNextTwoSecondsHaveNoOther() {
        assertEquals(1, askedAfter(0));
        removed++;
        assertEquals(1, askedAfter(2 * SECOND - 1));
        assertEquals(2, askedAfter(1));
    }

    @Test
    void noQuestionIsAnsweredWhereTheUserDoesNotWantThat() {
        DeadShuffles off = new DeadShuffles(false, () -> collections++, Runnable::run, () -> now);
        off.take(DeadShuffles.question("1", 0));
        assertEquals(0, collections);
        assertEquals(1, askedAfter(0));
    }

    @Test
    void collectionsTakeATwentiethOfTheTimeAtMost() {
        lasts = SECOND / 2;
        assertEquals(1, askedAfter(0));
        assertEquals(1, askedAfter(10 * SECOND - 1));
        assertEquals(2, askedAfter(1));
    }

    @Test
    void thePauseDoublesWhileNoShuffleIsFoundDeadAndIsShortAgainAfterwards() {
        assertEquals(1, askedAfter(0));
        assertEquals(2, askedAfter(2 * SECOND)); // it did not help
        assertEquals(2, askedAfter(4 * SECOND - 1));
        assertEquals(3, askedAfter(1));
        removed++;
        assertEquals(3, askedAfter(8 * SECOND - 1));
        assertEquals(4, askedAfter(1)); // it did
        assertEquals(5, askedAfter(2 * SECOND));
    }

    @Test
    void questionsDuringACollectionStartNoOther() {
        DeadShuffles[] asked = new DeadShuffles[1];
        asked[0] = new DeadShuffles(true, () -> {
            collections++;
            now += 10 * SECOND;
            asked[0].take(DeadShuffles.question("2", 0));
        }, Runnable::run, () -> now);
        asked[0].take(DeadShuffles.question("1", 0));
        assertEquals(1, collections);
    }

    @Test
    void otherMessagesAreLeftAloneAndReportsLeaveQuestionsAlone() {
        dead.take(Map.entry("1", "what it chose"));
        dead.take("something");
        assertEquals(0, collections);
        ExecutorReports reports = new ExecutorReports();
        reports.take(DeadShuffles.question("1", 0));
        assertEquals(0, reports.count());
    }
}
