// SPDX-License-Identifier: Apache-2.0
package org.verbena.ohb.hbase;

import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.apache.hadoop.hbase.HBaseConfiguration;

/**
 * Answers lines on standard input with one line of JSON each: {@code fill ROWS BYTES}, then {@code exists}, {@code get},
 * {@code put}, {@code scan} or, by {@code AsyncTable}, {@code aget} with {@code CALLS THREADS}; {@code check 0 0} compares all
 * rows with what was put; {@code quit} ends it. The site file is that of the class path. Standard output carries answers alone.
 */
public final class CallLoad {
    private CallLoad() {
    }

    /**
     * Runs until {@code quit} or the end of the input.
     *
     * @param arguments none
     * @throws IOException when HBase cannot be reached; failures of an operation are answers
     */
    public static void main(String[] arguments) throws IOException {
        PrintStream answers = new PrintStream(new FileOutputStream(FileDescriptor.out), true, StandardCharsets.UTF_8);
        System.setOut(System.err);
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        try (Calls calls = new Calls(HBaseConfiguration.create())) {
            for (String line = lines.readLine(); line != null && !line.equals("quit"); line = lines.readLine()) {
                String[] words = line.trim().split(" +");
                try {
                    answers.println(answer(calls, words[0], Integer.parseInt(words[1]), Integer.parseInt(words[2])));
                } catch (IOException | RuntimeException e) {
                    answers.println("{\"error\": \"" + quoted(line + ": " + e) + "\"}");
                }
            }
        }
    }

    private static String answer(Calls calls, String what, int first, int second) throws IOException {
        if (what.equals("fill")) {
            calls.fill(first, second);
            return "{}";
        }
        if (what.equals("check")) {
            calls.checkAll();
            return "{}";
        }
        long start = System.nanoTime();
        long[] each = calls.run(what, first, second);
        long all = System.nanoTime() - start;
        Arrays.sort(each);
        return "{\"ns\": " + all + ", \"calls\": " + each.length + ", \"p50_ns\": " + each[each.length / 2] + ", \"p99_ns\": "
            + each[(int) (each.length * 0.99)] + "}";
    }

    static String quoted(String text) {
        return text.replace("\\", "\\\\").replace("\"", "\\\"").replaceAll("\\p{Cntrl}", " ");
    }
}
