// SPDX-License-Identifier: Apache-2.0
// Many executors of one shuffle in this process, for counting what they cost each other.
package org.verbena.spark.read;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.ToLongFunction;
import org.verbena.spark.metrics.Traffic;

/**
 * Every executor has the same number of map outputs and serves them over TCP; the first ones also run the reduce tasks,
 * the same number each. A reduce task asks each other executor for its blocks by one request, as Spark's reader does
 * when they are less than a fifth of spark.reducer.maxSizeInFlight.
 */
final class Crowd implements AutoCloseable {
    private static final int SHUFFLE = 1;
    private static final int QUIET = 25; // looks without a new packet: a thread may not have had its turn for long
    private static final long LIMIT = TimeUnit.SECONDS.toNanos(100);

    private final Executors executors = new Executors(Map.of("spark.verbena.transport", "tcp"));
    private final List<Executors.One> all = new ArrayList<>();
    private final int maps;
    private final int reducers;
    private List<Executors.One> reducing;

    /** maps: outputs of each executor; reducers: tasks of each executor that has some. */
    Crowd(int maps, int reducers) throws Exception {
        this.maps = maps;
        this.reducers = reducers;
    }

    /** Starts so many executors, of which the first run reduce tasks, and writes the map outputs. */
    void start(int count, int withTasks) throws Exception {
        for (int i = 0; i < count; i++) {
            all.add(executors.start(Integer.toString(i)));
        }
        reducing = all.subList(0, withTasks);
        for (long map = 0; map < (long) maps * count; map++) {
            all.get(0).write(SHUFFLE, map, withTasks * reducers); // the store is everybody's
        }
    }

    private String[] blocks(int owner, int partition) {
        String[] names = new String[maps];
        for (int i = 0; i < maps; i++) {
            names[i] = "shuffle_" + SHUFFLE + "_" + ((long) owner * maps + i) + "_" + partition;
        }
        return names;
    }

    static void await(BooleanSupplier condition, String what) throws InterruptedException {
        long deadline = System.nanoTime() + LIMIT;
        while (!condition.getAsBoolean()) {
            assertTrue(System.nanoTime() < deadline, what);
            Thread.sleep(20);
        }
    }

    /** Sum of a counter of the core over all executors. */
    long sum(String counter) {
        return all.stream().mapToLong(one -> one.context.counters().get(counter)).sum();
    }

    /** Sum of something that the reducing executors have counted. */
    long sum(ToLongFunction<Traffic> what) {
        return reducing.stream().mapToLong(one -> what.applyAsLong(one.traffic)).sum();
    }

    /** Requests for addresses and blocks that went by Spark's transport. */
    long requestsToSpark() {
        return reducing.stream().mapToLong(one -> one.requestsToSpark.sum()).sum();
    }

    /** Other executors to which the reducing ones have a connection: of each of them. */
    int[] connections() {
        return reducing.stream().mapToInt(one -> one.client.connections()).toArray();
    }

    private long sent() {
        return sum("tcp.tx.packets") - sum("link.acks_sent");
    }

    /** Packets with messages so far, all executors together, once they stop. */
    long messages() throws InterruptedException {
        long[] last = {-1, 0}; // the number, and how often it was seen
        await(() -> {
            long now = sent();
            last[1] = now == last[0] ? last[1] + 1 : 0;
            last[0] = now;
            return last[1] == QUIET;
        }, "an end of the packets");
        return last[0];
    }

    /** Every reducing executor asks every other one for a block: addresses come, and connections are made. */
    void connect(int links) throws InterruptedException {
        Semaphore right = new Semaphore(0);
        int asked = 0;
        for (int i = 0; i < reducing.size(); i++) {
            for (int other = 0; other < all.size(); other++) {
                if (other != i) {
                    reducing.get(i).ask(Integer.toString(other), new String[] {blocks(other, 0)[0]}, 0, right);
                    asked++;
                }
            }
        }
        assertTrue(right.tryAcquire(asked, LIMIT, TimeUnit.NANOSECONDS), "the first blocks");
        await(() -> sum("peers.connected") == 2L * links, "connections: " + links);
        await(() -> Arrays.stream(connections()).sum() >= links, "links: " + links);
    }

    /** Runs the reduce tasks; every block of every other executor comes once, with its own bytes. */
    void reduce() throws InterruptedException {
        Semaphore right = new Semaphore(0);
        int expected = 0;
        for (int partition = 0; partition < reducing.size() * reducers; partition++) {
            int self = partition / reducers;
            for (int step = 1; step < all.size(); step++) {
                int other = (self + step) % all.size();
                reducing.get(self).ask(Integer.toString(other), blocks(other, partition), partition, right);
                expected += maps;
            }
        }
        assertTrue(right.tryAcquire(expected, LIMIT, TimeUnit.NANOSECONDS), "blocks: " + expected);
        assertEquals(0, right.availablePermits(), "no block comes twice");
    }

    /** A time after which connections that nobody uses are closed has passed. */
    void rest() throws InterruptedException {
        long then = System.nanoTime() + Links.IDLE + TimeUnit.SECONDS.toNanos(1);
        reducing.forEach(one -> one.client.closeUnused(then));
        await(() -> all.stream().allMatch(one -> one.client.connections() == 0), "no connection is left");
    }

    @Override
    public void close() throws Exception {
        executors.close();
    }
}
