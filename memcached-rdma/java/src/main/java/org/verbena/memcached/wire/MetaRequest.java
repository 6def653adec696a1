// SPDX-License-Identifier: Apache-2.0
package org.verbena.memcached.wire;

import java.nio.charset.StandardCharsets;

/** A request as meta commands. Each carries a number (flag O), which the answer repeats. */
public final class MetaRequest {
    private static final String MODES = "SERAPS"; // by Request.Mode

    private MetaRequest() {
    }

    /**
     * Writes a request.
     *
     * @param request what is asked, not NOOP
     * @param number of the request; of LIST each key has its place in the list
     * @param valueBytes bytes of the value, which follow, and after them the end of a line
     * @return the lines
     */
    public static byte[] write(Request request, int number, int valueBytes) {
        Lines lines = new Lines(48 + request.key().length + request.keys().stream().mapToInt(key -> key.length + 32).sum());
        switch (request.kind()) {
            case GET -> lines.add("mg ").add(request.key()).add(" f c v");
            case GET_AND_TOUCH -> lines.add("mg ").add(request.key()).add(" f c v T" + request.ttl());
            case TOUCH -> lines.add("mg ").add(request.key()).add(" T" + request.ttl());
            case DELETE -> lines.add("md ").add(request.key()).add(pin(request));
            case INCREMENT, DECREMENT -> lines.add("ma ").add(request.key()).add(" v D" + Long.toUnsignedString(request.number())
                + (request.kind() == Request.Kind.DECREMENT ? " MD" : " MI"));
            case PUT -> put(lines, request, valueBytes);
            case LIST -> {
                return list(lines, request);
            }
            default -> throw new IllegalArgumentException("no meta command: " + request.kind());
        }
        return lines.add(" O" + Integer.toUnsignedString(number) + "\r\n").bytes();
    }

    private static void put(Lines lines, Request request, int valueBytes) {
        String compare = request.mode() == Request.Mode.CAS ? " C" + Long.toUnsignedString(request.number()) : "";
        lines.add("ms ").add(request.key()).add(" " + valueBytes + " F" + Integer.toUnsignedString(request.flags()) + " T"
            + request.ttl() + " M" + MODES.charAt(request.mode().ordinal()) + compare + pin(request) + " c");
    }

    private static String pin(Request request) {
        return request.pinned() ? " K" : "";
    }

    /** One get for each key, and a noop that ends them. */
    private static byte[] list(Lines lines, Request request) {
        for (int i = 0; i < request.keys().size(); i++) {
            lines.add("mg ").add(request.keys().get(i)).add(" f c v q O" + i + "\r\n");
        }
        return lines.add("mn\r\n").bytes();
    }

    /** Bytes that grow. */
    private static final class Lines {
        private byte[] bytes;
        private int used;

        Lines(int capacity) {
            bytes = new byte[capacity];
        }

        Lines add(byte[] more) {
            if (bytes.length - used < more.length) {
                bytes = java.util.Arrays.copyOf(bytes, 2 * bytes.length + more.length);
            }
            System.arraycopy(more, 0, bytes, used, more.length);
            used += more.length;
            return this;
        }

        Lines add(String more) {
            return add(more.getBytes(StandardCharsets.US_ASCII));
        }

        byte[] bytes() {
            return java.util.Arrays.copyOf(bytes, used);
        }
    }
}
