// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.lustre.buffer;

import java.io.IOException;
import java.util.List;
import java.util.stream.Collectors;

/** Chunks that neither a server nor this host has. */
final class LostException extends IOException {
    private static final long serialVersionUID = 1L;
    private static final int SHOWN = 8;

    LostException(String path, List<Chunk> lost, IOException failure) {
        super(path + " lacks " + lost.stream().limit(SHOWN).map(Chunk::toString).collect(Collectors.joining(", "))
            + (lost.size() > SHOWN ? " and " + (lost.size() - SHOWN) + " more" : "") + ": "
            + (failure == null ? "their memcached servers have them no more; with async-local the flusher on the host of the "
                + "file's writer has copies; else delete the file and write it again"
                : "servers do not answer (" + failure.getMessage()
                    + "); start them again, or the flusher on the host of the writer"),
            failure);
    }
}
