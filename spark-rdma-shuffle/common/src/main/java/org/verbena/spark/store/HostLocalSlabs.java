// SPDX-License-Identifier: Apache-2.0
// Reads map outputs of the other executors of this host: mapped slabs, no message, no copy of files.
package org.verbena.spark.store;

import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.verbena.core.VbnContext;
import org.verbena.core.VbnMemory;

/**
 * The name of the other executor's block manager directory is that of its slab directory; a symbolic link there names the
 * index of a map output (see {@link SlabStore}). Everything found is checked. Thread safe.
 */
public final class HostLocalSlabs implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(HostLocalSlabs.class);
    private static final int MAX_INDICES = 1 << 16;

    private final VbnContext context;
    private final Path root;
    private final String application;
    private final Map<String, Neighbour> neighbours = new ConcurrentHashMap<>();

    /**
     * Makes an empty view.
     *
     * @param root directory on tmpfs, as for {@link DataDirectory#create}
     * @param application Spark's application id
     */
    public HostLocalSlabs(VbnContext context, Path root, String application) {
        this.context = context;
        this.root = root;
        this.application = application;
    }

    /** Names a map output; asked for once per block, therefore no text. */
    private record Output(int shuffleId, long mapId) {
    }

    /** Another executor of this host. */
    private final class Neighbour {
        private final Path directory;
        private final Map<Integer, VbnMemory> memories = new ConcurrentHashMap<>();
        private final Map<Integer, ByteBuffer> views = new ConcurrentHashMap<>();
        private final Map<Output, MapIndex> indices = new ConcurrentHashMap<>();

        Neighbour(Path directory) {
            this.directory = directory;
        }

        ByteBuffer slab(int number) {
            ByteBuffer view = views.get(number);
            return view != null ? view : openSlab(number);
        }

        private synchronized ByteBuffer openSlab(int number) {
            return views.computeIfAbsent(number, n -> {
                try {
                    VbnMemory memory = context.openFile(directory.resolve("slab-" + n));
                    memories.put(n, memory);
                    return memory.buffer();
                } catch (IOException e) {
                    throw new java.io.UncheckedIOException(e);
                }
            });
        }

        MapIndex index(int shuffleId, long mapId) throws IOException {
            Output output = new Output(shuffleId, mapId);
            MapIndex index = indices.get(output);
            if (index != null && index.isLive()) {
                return index;
            }
            Path link = directory.resolve("m-" + shuffleId + "-" + mapId);
            if (!Files.isSymbolicLink(link)) {
                indices.remove(output);
                return null;
            }
            MapIndex found = parse(Files.readSymbolicLink(link).toString());
            if (indices.size() >= MAX_INDICES) {
                indices.clear();
            }
            indices.put(output, found);
            return found;
        }

        private MapIndex parse(String target) throws IOException {
            String[] parts = target.split(":");
            try {
                ByteBuffer slab = slab(Integer.parseInt(parts[0]));
                int offset = Integer.parseInt(parts[1]);
                int length = Integer.parseInt(parts[2]);
                return MapIndex.open(slab.slice(offset, length), Long.parseUnsignedLong(parts[3], 16), this::slab);
            } catch (IndexOutOfBoundsException | NumberFormatException e) {
                throw new IOException("damaged entry " + target + " in " + directory, e);
            } catch (java.io.UncheckedIOException e) {
                throw e.getCause();
            }
        }

        /** Lets go of slabs that their owner has given back. */
        synchronized void prune() {
            boolean any = memories.entrySet().removeIf(slab -> {
                boolean gone = !Files.exists(directory.resolve("slab-" + slab.getKey()));
                if (gone) {
                    views.remove(slab.getKey());
                    slab.getValue().close();
                }
                return gone;
            });
            if (any) {
                indices.clear(); // each holds views of slabs
            }
        }

        synchronized void close() {
            views.clear();
            memories.values().forEach(VbnMemory::close);
            memories.clear();
        }
    }

    /**
     * Finds an output of another executor of this host.
     *
     * @param directories its block manager directories
     * @return its index, or null when it is not in slabs that can be read here
     */
    public MapIndex find(String[] directories, int shuffleId, long mapId) {
        if (directories.length == 0) {
            return null;
        }
        try {
            Neighbour neighbour = neighbours.get(directories[0]);
            if (neighbour == null) {
                Path directory = DataDirectory.find(root, application, new File(directories[0]).getName());
                if (directory == null) {
                    return null;
                }
                pruneDead();
                neighbour = neighbours.computeIfAbsent(directories[0], d -> new Neighbour(directory));
            }
            return neighbour.index(shuffleId, mapId);
        } catch (IOException | RuntimeException e) {
            LOG.debug("map output {} of shuffle {} below {} is not readable in slabs: {}", mapId, shuffleId,
                directories[0], e.toString());
            return null;
        }
    }

    /** Lets go of executors whose directory is gone and of slabs that are gone, so that their memory returns to the system. */
    public void prune() {
        pruneDead();
        neighbours.values().forEach(Neighbour::prune);
    }

    private void pruneDead() {
        neighbours.values().removeIf(neighbour -> {
            boolean gone = !Files.isDirectory(neighbour.directory);
            if (gone) {
                neighbour.close();
            }
            return gone;
        });
    }

    /** Unmaps everything that is not being read. */
    @Override
    public void close() {
        neighbours.values().forEach(Neighbour::close);
        neighbours.clear();
    }
}
