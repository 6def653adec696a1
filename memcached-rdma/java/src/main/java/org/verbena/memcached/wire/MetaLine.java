// SPDX-License-Identifier: Apache-2.0
package org.verbena.memcached.wire;

import java.net.ProtocolException;

/**
 * The first line of an answer to a meta command. Immutable.
 *
 * @param code two letters
 * @param valueBytes bytes of the value that follows; -1: none follows
 * @param number flag O; -1: none
 * @param flags flag f
 * @param cas flag c
 */
public record MetaLine(String code, int valueBytes, long number, int flags, long cas) {
    /** Most bytes of a value, as memcached's protocol has them. */
    public static final int VALUE_MAX = 2147483645;

    /**
     * Reads a line.
     *
     * @param text without its end
     * @throws ProtocolException when it is no such line
     */
    public static MetaLine parse(String text) throws ProtocolException {
        String[] words = text.split(" +");
        int first = 1;
        int valueBytes = -1;
        if (words[0].length() != 2) {
            throw wrong(text);
        }
        if (words[0].equals("VA")) {
            long bytes = words.length < 2 ? -1 : unsigned(words[1], text);
            if (bytes < 0 || bytes > VALUE_MAX) {
                throw wrong(text);
            }
            valueBytes = (int) bytes;
            first = 2;
        }
        long number = -1;
        long flags = 0;
        long cas = 0;
        for (int i = first; i < words.length; i++) {
            switch (words[i].isEmpty() ? ' ' : words[i].charAt(0)) {
                case 'O' -> number = unsigned(words[i].substring(1), text);
                case 'f' -> flags = unsigned(words[i].substring(1), text);
                case 'c' -> cas = unsigned(words[i].substring(1), text);
                default -> { }
            }
        }
        return new MetaLine(words[0], valueBytes, number, (int) flags, cas);
    }

    private static long unsigned(String digits, String line) throws ProtocolException {
        try {
            if (!digits.isEmpty() && Character.isDigit(digits.charAt(0))) {
                return Long.parseUnsignedLong(digits);
            }
        } catch (NumberFormatException e) {
            throw wrong(line);
        }
        throw wrong(line);
    }

    /** What a server has said that makes no sense. */
    static ProtocolException wrong(String line) {
        String shown = line.length() > 60 ? line.substring(0, 60) + "..." : line;
        return new ProtocolException("no answer of a memcached server: '" + shown.replaceAll("[^ -~]", "?") + "'");
    }

    /**
     * An error line of memcached.
     *
     * @param text a line without its end
     * @return the error, or null: it is none
     */
    public static Answer error(String text) {
        if (text.startsWith("SERVER_ERROR")) {
            return Answer.error(text.contains("too large") ? Answer.Status.TOO_LARGE : Answer.Status.NO_MEMORY, text);
        }
        if (text.startsWith("CLIENT_ERROR") || text.equals("ERROR")) {
            return Answer.error(text.contains("non-numeric") ? Answer.Status.NON_NUMERIC : Answer.Status.INVALID, text);
        }
        return null;
    }

    /**
     * What the code says.
     *
     * @param kind of the request
     * @throws ProtocolException when it is no code that the request can have
     */
    public Answer.Status status(Request.Kind kind) throws ProtocolException {
        return switch (code) {
            case "HD", "VA" -> Answer.Status.OK;
            case "EN", "NF" -> Answer.Status.NOT_FOUND;
            case "EX" -> Answer.Status.EXISTS;
            case "NS" -> kind == Request.Kind.PUT ? Answer.Status.NOT_STORED : Answer.Status.NOT_FOUND;
            default -> throw wrong(code);
        };
    }
}
