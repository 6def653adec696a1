// SPDX-License-Identifier: Apache-2.0
// Which quotas of a cluster the modes do not keep.
package org.verbena.hadoop.hdfs;

import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.Set;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.QuotaUsage;
import org.apache.hadoop.fs.RemoteIterator;
import org.apache.hadoop.fs.StorageType;
import org.verbena.core.plugin.Finding.Level;
import org.verbena.core.plugin.HostReport;

/**
 * Counts folders with a quota of memory, solid-state disks or the shared path: Hadoop counts replicas by the storage policy, here
 * as DISK.
 */
final class TypeQuotas {
    private static final Set<String> TYPES = Set.of("SSD", "NVDIMM", "ARCHIVE");
    /** Folders that are looked at, those nearest to the root. */
    private static final int MOST = 1000;

    private TypeQuotas() {
    }

    static void look(FileSystem files, HostReport report) {
        Deque<Path> left = new ArrayDeque<>(List.of(new Path("/")));
        int seen = 0;
        int limited = 0;
        Path example = null;
        try {
            for (; seen < MOST && !left.isEmpty(); seen++) {
                Path folder = left.remove();
                if (isLimited(files.getQuotaUsage(folder))) {
                    limited++;
                    example = example == null ? folder : example;
                }
                add(files.listStatusIterator(folder), left);
            }
        } catch (IOException e) {
            report.add(Level.WARN, "quotas: not all folders could be looked at: " + ClusterCheck.cause(e));
        }
        String looked = " of " + seen + (left.isEmpty() ? " folders" : " folders (more were not looked at)");
        if (limited == 0) {
            report.add(Level.OK, "quotas: none" + looked + " limits SSD, NVDIMM or ARCHIVE");
        } else {
            report.add(Level.WARN, "quotas: " + limited + looked + " limit SSD, NVDIMM or ARCHIVE, such as "
                + example.toUri().getPath() + ": Hadoop counts all replicas of this mode as DISK, so this limit does not hold for "
                + "them. Limit DISK: 'hdfs dfsadmin -setSpaceQuota N -storageType DISK PATH'");
        }
    }

    private static void add(RemoteIterator<FileStatus> inside, Deque<Path> left) throws IOException {
        while (left.size() < MOST && inside.hasNext()) {
            FileStatus status = inside.next();
            if (status.isDirectory()) {
                left.add(status.getPath());
            }
        }
    }

    private static boolean isLimited(QuotaUsage usage) {
        return Arrays.stream(StorageType.values())
            .anyMatch(type -> TYPES.contains(type.name()) && usage.getTypeQuota(type) >= 0);
    }
}
