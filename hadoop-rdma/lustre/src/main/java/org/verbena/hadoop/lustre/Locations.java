// SPDX-License-Identifier: Apache-2.0
// Where a file's blocks lie, in Hadoop's words.
package org.verbena.hadoop.lustre;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.hadoop.fs.BlockLocation;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Every host is as near to a shared file as any other, so all blocks are those of "localhost", which Hadoop's schedulers take for
 * no wish. Their names are the storage targets, such as "OST0003", where lfs tells them; else the file is one location.
 */
final class Locations {
    private static final Logger LOG = LoggerFactory.getLogger(Locations.class);
    private static final String[] HOSTS = {"localhost"};
    private static final AtomicBoolean TOLD = new AtomicBoolean();

    private final LustreConf settings;
    private final LfsTool lfs;

    Locations(LustreConf settings, LfsTool lfs) {
        this.settings = settings;
        this.lfs = lfs;
    }

    /**
     * Blocks that have any of some bytes.
     *
     * @param size of the file, above start
     */
    BlockLocation[] of(Path file, long size, long start, long length) {
        if (!lfs.isThere()) {
            if (!TOLD.getAndSet(true)) {
                LOG.info("Verbena: files of lustre: are one location each: {}", lfs.reason());
            }
            return new BlockLocation[] {new BlockLocation(HOSTS, HOSTS, 0, size)};
        }
        Layout layout = lfs.layout(file);
        long end = length > size - start ? size : start + length;
        List<BlockLocation> found = new ArrayList<>();
        long block = settings.blockSize();
        for (long at = start / block * block; at < end; at += block) {
            long part = Math.min(block, size - at);
            String[] names = layout.targets(at, part).stream().map(target -> String.format("OST%04x", target))
                .toArray(String[]::new);
            found.add(new BlockLocation(names.length == 0 ? HOSTS : names, HOSTS, at, part));
        }
        return found.toArray(new BlockLocation[0]);
    }
}
