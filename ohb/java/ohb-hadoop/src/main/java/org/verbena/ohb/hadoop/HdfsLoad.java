// SPDX-License-Identifier: Apache-2.0
package org.verbena.ohb.hadoop;

import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.verbena.ohb.hadoop.Load.Cell;

/**
 * Answers lines on standard input with one line of JSON each: {@code write SIZE COUNT REPLICAS CLIENTS SEED}, then
 * {@code read}, {@code positioned READS BYTES} and {@code vectored READS RANGES BYTES} of the same files, {@code delete};
 * {@code quit} ends it. The site files are those of the class path. Standard output carries answers alone.
 */
public final class HdfsLoad {
    private static final String PAUSE = "dfs.client.block.write.locateFollowingBlock.";

    private HdfsLoad() {
    }

    /**
     * Runs until {@code quit} or the end of the input.
     *
     * @param arguments none
     * @throws IOException when the file system cannot be reached; failures of an operation are answers
     */
    public static void main(String[] arguments) throws IOException {
        PrintStream answers = new PrintStream(new FileOutputStream(FileDescriptor.out), true, StandardCharsets.UTF_8);
        System.setOut(System.err);
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        try (Load load = new Load(FileSystem.newInstance(configuration()))) {
            Cell cell = null;
            for (String line = lines.readLine(); line != null && !line.equals("quit"); line = lines.readLine()) {
                String[] words = line.trim().split(" +");
                try {
                    cell = words[0].equals("write") ? cell(words) : cell;
                    answers.println(answer(load, words, cell));
                } catch (IOException | IllegalArgumentException e) {
                    answers.println("{\"error\": \"" + quoted(line + ": " + e) + "\"}");
                }
            }
        }
    }

    /**
     * The site files, and a first pause of 1 ms where Hadoop pauses 400: a client that closes a file before the NameNode has
     * heard of
     * its last block asks again after this pause, by either way of the blocks, and half of the small files would be timed by
     * it alone. The pauses double; there are as many as last for some seconds, as Hadoop's do.
     */
    private static Configuration configuration() {
        Configuration configuration = new Configuration();
        configuration.setInt(PAUSE + "initial.delay.ms", 1);
        configuration.setInt(PAUSE + "retries", 13);
        return configuration;
    }

    private static Cell cell(String[] words) {
        if (words.length != 6) {
            throw new IllegalArgumentException("write SIZE COUNT REPLICAS CLIENTS SEED");
        }
        return new Cell(Long.parseLong(words[1]), Integer.parseInt(words[2]), Integer.parseInt(words[3]),
            Integer.parseInt(words[4]), Long.parseLong(words[5]));
    }

    private static String answer(Load load, String[] words, Cell cell) throws IOException {
        if (cell == null) {
            throw new IllegalArgumentException("write something first");
        }
        return switch (words[0]) {
            case "write" -> moved(load.write(cell), cell.bytes(), load);
            case "read" -> moved(load.read(cell), cell.bytes(), load);
            case "positioned" -> {
                int[] numbers = numbers(words, "READS BYTES");
                yield moved(load.positioned(cell, numbers[0], numbers[1]), bytes(cell, numbers), load);
            }
            case "vectored" -> {
                int[] numbers = numbers(words, "READS RANGES BYTES");
                yield moved(load.vectored(cell, numbers[0], numbers[1], numbers[2]), bytes(cell, numbers), load);
            }
            case "delete" -> {
                load.delete();
                yield moved(0, 0, load);
            }
            default -> throw new IllegalArgumentException("unknown command; known are write, read, positioned, vectored, delete, "
                + "quit");
        };
    }

    private static int[] numbers(String[] words, String names) {
        if (words.length != 1 + names.split(" ").length) {
            throw new IllegalArgumentException(words[0] + " " + names);
        }
        return Arrays.stream(words, 1, words.length).mapToInt(Integer::parseInt).toArray();
    }

    /** What reads of all files move: the product of their numbers, of each file. */
    private static long bytes(Cell cell, int[] numbers) {
        return Arrays.stream(numbers).asLongStream().reduce((long) cell.count() * cell.clients(), (a, b) -> a * b);
    }

    private static String moved(long nanoseconds, long bytes, Load load) {
        return "{\"ns\": " + nanoseconds + ", \"bytes\": " + bytes + ", \"short_circuit\": " + load.takeShortCircuit() + "}";
    }

    private static String quoted(String text) {
        return text.replace("\\", "\\\\").replace("\"", "\\\"").replaceAll("\\p{Cntrl}", " ");
    }
}
