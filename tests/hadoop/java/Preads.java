// SPDX-License-Identifier: Apache-2.0
// Reads a file at any place until its standard input ends, and compares: java Preads.java PATH LOCAL_COPY PROPERTY=VALUE ...
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileRange;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.hdfs.HdfsConfiguration;

/** One stream for all reads, positioned and vectored ones. A line for each hundred of each; the first fault ends it. */
public final class Preads {
    private static final int SIZE = 4096;
    private static final int RANGES = 8;
    private static final int TOLD = 100;

    private Preads() {
    }

    public static void main(String[] arguments) throws Exception {
        org.apache.hadoop.fs.Path path = new org.apache.hadoop.fs.Path(arguments[0]);
        byte[] content = Files.readAllBytes(Path.of(arguments[1]));
        Random random = new Random();
        Configuration conf = new HdfsConfiguration();
        for (String setting : List.of(arguments).subList(2, arguments.length)) {
            conf.set(setting.split("=")[0], setting.split("=")[1]);
        }
        try (FileSystem files = path.getFileSystem(conf); FSDataInputStream in = files.open(path)) {
            for (int reads = 1; System.in.available() == 0; reads++) {
                byte[] bytes = new byte[SIZE];
                int place = random.nextInt(content.length - SIZE);
                in.readFully(place, bytes);
                check(content, place, ByteBuffer.wrap(bytes));
                List<FileRange> ranges = new ArrayList<>();
                int part = content.length / RANGES;
                for (int i = 0; i < RANGES; i++) {
                    ranges.add(FileRange.createFileRange(i * part + random.nextInt(part - SIZE), SIZE));
                }
                in.readVectored(ranges, ByteBuffer::allocate);
                for (FileRange range : ranges) {
                    check(content, (int) range.getOffset(), range.getData().get());
                }
                if (reads % TOLD == 0) {
                    System.out.println("read " + reads);
                }
            }
        }
        System.out.println("right");
    }

    private static void check(byte[] content, int place, ByteBuffer bytes) throws IOException {
        if (!bytes.equals(ByteBuffer.wrap(content, place, SIZE))) {
            throw new IOException("the " + SIZE + " bytes at " + place + " differ");
        }
    }
}
