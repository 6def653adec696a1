// SPDX-License-Identifier: Apache-2.0
// Writes one file for each fault of late.c and says how that ends: java Late.java FAULT...
import java.io.IOException;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/** A line for each: its name, and "whole" or the error. Then the first file gets a new name, and the second one wants the same. */
public final class Late {
    private static final int BYTES = 1 << 20;

    private Late() {
    }

    public static void main(String[] faults) throws IOException {
        FileSystem files = FileSystem.get(new Configuration());
        for (String fault : faults) {
            System.out.println(fault + ": " + write(files, fault));
        }
        Path moved = new Path("/moved");
        System.out.println("rename: " + files.rename(new Path("/late-" + faults[0]), moved) + " "
            + files.rename(new Path("/late-" + faults[1]), moved));
    }

    private static String write(FileSystem files, String fault) {
        FSDataOutputStream out;
        try {
            out = files.create(new Path("/late-" + (fault.equals("accent") ? "caf\u00e9" : fault)));
        } catch (IOException e) {
            return e.getMessage();
        }
        String first = null;
        try {
            out.write(new byte[BYTES]);
            if (fault.equals("unsynced")) {
                out.hflush();
            } else {
                out.hsync();
            }
        } catch (IOException e) {
            first = e.getMessage();
        }
        try {
            out.close();
            return first == null ? "whole" : "close is silent after " + first;
        } catch (IOException e) {
            return List.of(String.valueOf(first), e.getMessage()).toString();
        }
    }
}
