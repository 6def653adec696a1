// SPDX-License-Identifier: Apache-2.0
// What the kernel says of a file, as Hadoop's FileStatus.
package org.verbena.hadoop.lustre;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.attribute.FileTime;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.fs.BlockLocation;
import org.apache.hadoop.fs.EtagSource;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.LocatedFileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.permission.FsPermission;
import org.verbena.hadoop.lustre.buffer.Records;

/** One stat call each. Its entity tag is the inode with size and time of its last change, so that it survives a rename. */
final class LustreStatus extends FileStatus implements EtagSource {
    private static final long serialVersionUID = 1;
    private static final String WANTED =
        "unix:mode,size,lastModifiedTime,lastAccessTime,owner,group,ino,dev,nlink,isDirectory,isSymbolicLink";
    private static final int MODE_BITS = 01777; // Hadoop knows the sticky bit, and no set-id bits

    private final String etag;
    private final boolean link;

    private LustreStatus(Map<String, Object> told, long blockSize, Path symlink, Path path) {
        super(isDirectory(told) ? 0 : (Long) told.get("size"), isDirectory(told), isDirectory(told) ? 0 : 1,
            isDirectory(told) ? 0 : blockSize, time(told, "lastModifiedTime").toMillis(),
            time(told, "lastAccessTime").toMillis(), new FsPermission((short) ((Integer) told.get("mode") & MODE_BITS)),
            told.get("owner").toString(), told.get("group").toString(), symlink, path);
        link = (Boolean) told.get("isSymbolicLink");
        etag = told.get("dev") + "-" + told.get("ino") + "-" + told.get("size") + "-"
            + time(told, "lastModifiedTime").to(TimeUnit.NANOSECONDS);
    }

    private static boolean isDirectory(Map<String, Object> told) {
        return (Boolean) told.get("isDirectory");
    }

    private static FileTime time(Map<String, Object> told, String name) {
        return (FileTime) told.get(name);
    }

    /**
     * Asks for a file, or for what a link leads to unless options say that links are not followed.
     *
     * @param records know length and time of a file that is in the burst buffer
     * @param path its name in Hadoop
     */
    static LustreStatus of(java.nio.file.Path file, long blockSize, Records records, Path path, LinkOption... options)
            throws IOException {
        try {
            return new LustreStatus(records.corrected(Files.readAttributes(file, WANTED, options)), blockSize, null, path);
        } catch (IOException e) {
            throw Errors.of(e, path);
        }
    }

    /**
     * Asks for a link itself.
     *
     * @param target where it leads to, in Hadoop's words
     */
    static LustreStatus ofLink(java.nio.file.Path file, long blockSize, Path target, Path path) throws IOException {
        try {
            return new LustreStatus(Files.readAttributes(file, WANTED, LinkOption.NOFOLLOW_LINKS), blockSize, target, path);
        } catch (IOException e) {
            throw Errors.of(e, path);
        }
    }

    @Override
    public String getEtag() {
        return etag;
    }

    /** Whether it is the status of a link that was not followed. */
    boolean isLink() {
        return link;
    }

    /** With the locations of the file's blocks. */
    static final class Located extends LocatedFileStatus implements EtagSource {
        private static final long serialVersionUID = 1;

        private final String etag;

        Located(LustreStatus status, BlockLocation[] locations) {
            super(status, locations);
            etag = status.etag;
        }

        @Override
        public String getEtag() {
            return etag;
        }

        @Override
        public boolean equals(Object other) {
            return super.equals(other);
        }

        @Override
        public int hashCode() {
            return super.hashCode();
        }
    }

    // Statuses are equal when their paths are, as Hadoop's: the tag is no part of that.
    @Override
    public boolean equals(Object other) {
        return super.equals(other);
    }

    @Override
    public int hashCode() {
        return super.hashCode();
    }
}
