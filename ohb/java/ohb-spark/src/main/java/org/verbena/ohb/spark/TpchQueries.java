// SPDX-License-Identifier: Apache-2.0
// The queries of the TPC-H specification, read from the resource tpch.sql.
package org.verbena.ohb.spark;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;

/** Texts of the queries by name, q1 to q22. */
final class TpchQueries {
    private static final String BEGIN = "(?m)^--- ";
    private static final Map<String, String> TEXTS = read();

    private TpchQueries() {
    }

    static Set<String> names() {
        return TEXTS.keySet();
    }

    static String text(String name) {
        String text = TEXTS.get(name);
        if (text == null) {
            throw new IllegalArgumentException("no TPC-H query '" + name + "'; there are " + names());
        }
        return text;
    }

    private static Map<String, String> read() {
        try (InputStream in = TpchQueries.class.getResourceAsStream("tpch.sql")) {
            String[] parts = new String(in.readAllBytes(), StandardCharsets.UTF_8).split(BEGIN);
            Map<String, String> texts = new LinkedHashMap<>();
            for (String part : Arrays.asList(parts).subList(1, parts.length)) {
                int end = part.indexOf('\n');
                texts.put(part.substring(0, end).strip(), part.substring(end).strip());
            }
            return texts;
        } catch (IOException e) {
            throw new ExceptionInInitializerError(e);
        }
    }
}
