// SPDX-License-Identifier: Apache-2.0
// A reference to a file as it was when the reference was made.
package org.verbena.hadoop.lustre;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import org.apache.hadoop.fs.InvalidPathHandleException;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.PathHandle;

/**
 * Immutable.
 *
 * @param etag what the file's tag has to be; empty: its bytes may change
 */
record LustreHandle(String path, String etag) implements PathHandle {
    private static final long serialVersionUID = 1;
    private static final String MARK = "lustre handle 1";

    /** Reads what {@link #bytes} wrote. */
    static LustreHandle of(PathHandle handle) throws IOException {
        if (handle instanceof LustreHandle known) {
            return known;
        }
        String[] parts = StandardCharsets.UTF_8.decode(handle.bytes().slice()).toString().split("\n", -1);
        if (parts.length != 3 || !parts[0].equals(MARK) || !parts[2].startsWith(Path.SEPARATOR)) {
            throw new InvalidPathHandleException("not a handle of the file system lustre:");
        }
        return new LustreHandle(parts[2], parts[1]);
    }

    @Override
    public ByteBuffer bytes() {
        return ByteBuffer.wrap((MARK + "\n" + etag + "\n" + path).getBytes(StandardCharsets.UTF_8));
    }
}
