// SPDX-License-Identifier: Apache-2.0
// A program of HDFS' file contexts: java Context.java PATH BYTES writes a file, reads it, and says "same" or "different".
import java.util.Arrays;
import java.util.EnumSet;
import java.util.Random;
import org.apache.hadoop.fs.CreateFlag;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileContext;
import org.apache.hadoop.fs.Path;

/** Uses the cluster of its site files. */
public final class Context {
    public static void main(String[] arguments) throws Exception {
        byte[] content = new byte[Integer.parseInt(arguments[1])];
        new Random(content.length).nextBytes(content);
        Path path = new Path(arguments[0]);
        FileContext files = FileContext.getFileContext();
        try (FSDataOutputStream out = files.create(path, EnumSet.of(CreateFlag.CREATE))) {
            out.write(content);
        }
        try (FSDataInputStream in = files.open(path)) {
            System.out.println(Arrays.equals(in.readAllBytes(), content) ? "same" : "different");
        }
    }
}
