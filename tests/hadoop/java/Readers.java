// SPDX-License-Identifier: Apache-2.0
// A program of HDFS' public API that reads one file by many streams, when a test says so: java Readers.java PATH STREAMS
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/** Opens all, reads a byte of each, says "open", and reads the rest after a line of input. Byte i of the file is i % 251. */
public final class Readers {
    private static final int PERIOD = 251;

    private static long readAll(FSDataInputStream in) throws Exception {
        byte[] buffer = new byte[64 << 10];
        long at = 1;
        for (int got = in.read(buffer); got >= 0; got = in.read(buffer)) {
            for (int i = 0; i < got; i++, at++) {
                if (buffer[i] != (byte) (at % PERIOD)) {
                    throw new IllegalStateException("byte " + at + " is " + buffer[i]);
                }
            }
        }
        in.close();
        return at;
    }

    public static void main(String[] arguments) throws Exception {
        FileSystem files = FileSystem.get(new Configuration());
        List<FSDataInputStream> all = new ArrayList<>();
        for (int i = 0; i < Integer.parseInt(arguments[1]); i++) {
            all.add(files.open(new Path(arguments[0])));
            if (all.get(i).read() != 0) {
                throw new IllegalStateException("the first byte is wrong");
            }
        }
        System.out.println("open");
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII)).readLine();
        long total = 0;
        for (FSDataInputStream in : all) {
            total += readAll(in);
        }
        System.out.println("read " + total);
    }
}
