// SPDX-License-Identifier: Apache-2.0
// The key=value parameters of a row, as they stand on the "warm" line.
package org.verbena.ohb.spark;

import java.util.LinkedHashMap;
import java.util.Map;

/** Parameters of one row; unknown or malformed ones are refused with a text for the user. */
final class Params {
    private final Map<String, String> values = new LinkedHashMap<>();

    Params(String[] words, int from) {
        for (int i = from; i < words.length; i++) {
            int equals = words[i].indexOf('=');
            if (equals <= 0) {
                throw new IllegalArgumentException("parameter '" + words[i] + "' is not of the form key=value");
            }
            values.put(words[i].substring(0, equals), words[i].substring(equals + 1));
        }
    }

    int count(String key) {
        long value = Long.parseLong(text(key));
        if (value < 1 || value > Integer.MAX_VALUE) {
            throw new IllegalArgumentException("parameter " + key + "=" + value + " must be at least 1");
        }
        return (int) value;
    }

    int count(String key, int byDefault) {
        return values.containsKey(key) ? count(key) : byDefault;
    }

    String text(String key, String byDefault) {
        return values.getOrDefault(key, byDefault);
    }

    String text(String key) {
        String value = values.get(key);
        if (value == null) {
            throw new IllegalArgumentException("parameter " + key + " is missing; given were " + values.keySet());
        }
        return value;
    }
}
