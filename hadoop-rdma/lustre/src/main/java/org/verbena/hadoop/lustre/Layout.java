// SPDX-License-Identifier: Apache-2.0
// Which storage targets a file's bytes lie on.
package org.verbena.hadoop.lustre;

import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Parsed out of the words of {@code lfs getstripe}: a plain layout, or a composite one of several components. Immutable.
 *
 * @param parts in the order of the file; empty when there is nothing that could be read
 */
record Layout(List<Part> parts) {
    private static final Pattern FIELD =
        Pattern.compile("\\s*(?:- )?(lmm_stripe_size|lcme_extent\\.e_start|lcme_extent\\.e_end):\\s+(\\S+)");
    private static final Pattern OBJECT =
        Pattern.compile("\\s*(\\d{1,6})\\s+\\d+\\s+0x[0-9a-fA-F]+\\s+(?:0x[0-9a-fA-F]+|\\d+)\\s*");
    private static final Pattern COMPOSITE_OBJECT = Pattern.compile("\\s*- \\d+: \\{ l_ost_idx: (\\d{1,6}),.*");
    private static final int MAX_TARGETS = 4096;

    /**
     * Bytes with one striping.
     *
     * @param start first byte
     * @param end first byte behind them
     * @param stripe bytes on one target before the next
     * @param targets numbers of the storage targets, in their order
     */
    record Part(long start, long end, long stripe, List<Integer> targets) {
    }

    /**
     * Reads what the tool says.
     *
     * @param text of {@code lfs getstripe FILE}; words that are not known are passed over
     */
    static Layout parse(String text) {
        List<Part> parts = new ArrayList<>();
        long start = 0;
        long end = Long.MAX_VALUE;
        long stripe = 0;
        List<Integer> targets = new ArrayList<>();
        for (String line : text.split("\n")) {
            Matcher field = FIELD.matcher(line);
            Matcher object = OBJECT.matcher(line);
            Matcher composite = COMPOSITE_OBJECT.matcher(line);
            if (field.matches() && field.group(1).equals("lcme_extent.e_start")) {
                add(parts, start, end, stripe, targets);
                targets = new ArrayList<>();
                start = number(field.group(2));
                end = Long.MAX_VALUE;
            } else if (field.matches() && field.group(1).equals("lcme_extent.e_end")) {
                end = number(field.group(2));
            } else if (field.matches()) {
                stripe = number(field.group(2));
            } else if (targets.size() < MAX_TARGETS && object.matches()) {
                targets.add(Integer.valueOf(object.group(1)));
            } else if (targets.size() < MAX_TARGETS && composite.matches()) {
                targets.add(Integer.valueOf(composite.group(1)));
            }
        }
        add(parts, start, end, stripe, targets);
        return new Layout(List.copyOf(parts));
    }

    /** A component without objects has no bytes yet. */
    private static void add(List<Part> parts, long start, long end, long stripe, List<Integer> targets) {
        if (!targets.isEmpty() && stripe > 0 && start >= 0 && end > start) {
            parts.add(new Part(start, end, stripe, List.copyOf(targets)));
        }
    }

    /** A number of bytes; "EOF" is the end of all numbers, and what is none is -1. */
    private static long number(String word) {
        if (word.equals("EOF")) {
            return Long.MAX_VALUE;
        }
        return word.matches("\\d{1,18}") ? Long.parseLong(word) : -1;
    }

    /** Numbers of the storage targets that have any of these bytes, in ascending order. */
    List<Integer> targets(long start, long length) {
        TreeSet<Integer> found = new TreeSet<>();
        long end = start + length;
        for (Part part : parts) {
            long from = Math.max(start, part.start());
            long to = Math.min(end, part.end());
            if (from < to) {
                long first = from / part.stripe();
                long last = Math.min((to - 1) / part.stripe(), first + part.targets().size() - 1);
                for (long stripe = first; stripe <= last; stripe++) {
                    found.add(part.targets().get((int) (stripe % part.targets().size())));
                }
            }
        }
        return List.copyOf(found);
    }
}
