// SPDX-License-Identifier: Apache-2.0
package org.verbena.memcached.config;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.List;

/**
 * The server of a key: ketama, as libmemcached computes it with weights and as the C client does (../client/ring.c). Immutable.
 */
public final class Ring {
    private static final int POINTS_PER_SERVER = 160;
    private static final int POINTS_PER_DIGEST = 4;
    private static final long VALUE = 0xffffffffL;

    private final int servers;
    /** Value of the point in the upper half, number of its server in the lower one; sorted. */
    private final long[] points;
    private final ThreadLocal<MessageDigest> digest = ThreadLocal.withInitial(Ring::md5);

    /**
     * Makes the ring.
     *
     * @param addresses at least one
     */
    public Ring(List<ServerAddress> addresses) {
        servers = addresses.size();
        points = servers == 1 ? new long[0] : points(addresses);
    }

    private static MessageDigest md5() {
        try {
            return MessageDigest.getInstance("MD5");
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("this JVM has no MD5, by which keys get their servers", e);
        }
    }

    /** Digests of a server; the type float is part of the agreement. */
    private static int digestsOf(ServerAddress address, int total, int servers) {
        float share = (float) address.weight() / (float) total;
        float points = share * (float) POINTS_PER_SERVER / (float) POINTS_PER_DIGEST * (float) servers;
        return (int) Math.floor((float) ((double) points + 0.0000000001));
    }

    private static long[] points(List<ServerAddress> addresses) {
        int total = addresses.stream().mapToInt(ServerAddress::weight).sum();
        int count = addresses.stream().mapToInt(address -> digestsOf(address, total, addresses.size())).sum();
        long[] points = new long[count * POINTS_PER_DIGEST];
        MessageDigest md5 = md5();
        int used = 0;
        for (int number = 0; number < addresses.size(); number++) {
            ServerAddress address = addresses.get(number);
            String name = address.port() == ServerAddress.USUAL_PORT ? address.host() : address.host() + ':' + address.port();
            for (int i = digestsOf(address, total, addresses.size()) - 1; i >= 0; i--) {
                byte[] bytes = md5.digest((name + '-' + i).getBytes(StandardCharsets.UTF_8));
                for (int j = 0; j < POINTS_PER_DIGEST; j++) {
                    points[used++] = valueAt(bytes, 4 * j) << 32 | number;
                }
            }
        }
        return sorted(points);
    }

    /** By value, as unsigned numbers. */
    private static long[] sorted(long[] points) {
        for (int i = 0; i < points.length; i++) {
            points[i] ^= Long.MIN_VALUE;
        }
        Arrays.sort(points);
        for (int i = 0; i < points.length; i++) {
            points[i] ^= Long.MIN_VALUE;
        }
        return points;
    }

    private static long valueAt(byte[] bytes, int at) {
        return bytes[at] & 0xffL | (bytes[at + 1] & 0xffL) << 8 | (bytes[at + 2] & 0xffL) << 16 | (bytes[at + 3] & 0xffL) << 24;
    }

    /**
     * Finds the server of a key. Any thread.
     *
     * @param key its bytes
     * @return the number of the server in the list
     */
    public int find(byte[] key) {
        if (points.length == 0) {
            return 0;
        }
        long value = valueAt(digest.get().digest(key), 0);
        int low = 0;
        int high = points.length;
        while (low < high) {
            int middle = (low + high) >>> 1;
            if ((points[middle] >>> 32) < value) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return (int) (points[low == points.length ? 0 : low] & VALUE);
    }
}
