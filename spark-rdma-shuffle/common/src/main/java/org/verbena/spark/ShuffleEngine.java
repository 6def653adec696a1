// SPDX-License-Identifier: Apache-2.0
// Everything that the plugin runs in one SparkEnv: native context, slabs, fetch client and server.
package org.verbena.spark;

import java.io.IOException;
import java.lang.reflect.Field;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.util.Map;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.network.BlockTransferService;
import org.apache.spark.storage.BlockManager;
import org.apache.spark.storage.StorageUtils$;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.verbena.core.VbnConfig;
import org.verbena.core.VbnContext;
import org.verbena.core.VbnEngine;
import org.verbena.core.plugin.JobKeys;
import org.verbena.core.plugin.PluginLog;
import org.verbena.spark.compat.SparkShim;
import org.verbena.spark.metrics.Load;
import org.verbena.spark.metrics.Numbers;
import org.verbena.spark.metrics.Traffic;
import org.verbena.spark.read.DirectMemory;
import org.verbena.spark.read.FetchClient;
import org.verbena.spark.read.FetchServer;
import org.verbena.spark.read.NeighbourBlocks;
import org.verbena.spark.read.SlabAccess;
import org.verbena.spark.settings.VerbenaConf;
import org.verbena.spark.store.DataDirectory;
import org.verbena.spark.store.HostLocalSlabs;
import org.verbena.spark.store.ShuffleFiles;
import org.verbena.spark.store.SlabStore;

/** Owned by the environment's {@link VerbenaShuffleManager}. Thread safe. */
public final class ShuffleEngine implements SlabAccess, AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(ShuffleEngine.class);
    /** Where slabs are. */
    static final Path ROOT = Path.of("/dev/shm");

    private final SparkEnv env;
    private final VerbenaConf settings;
    private final ShuffleFiles files;
    private final SlabBudget budget;
    private final DirectMemory memory;
    private final VbnContext context;
    private final HostLocalSlabs neighbours;
    private final NeighbourBlocks neighbourBlocks;
    private final Traffic traffic = new Traffic();
    private volatile Runnable nearlyFull = () -> { };
    private final VbnEngine engine;
    private FetchServer server;
    private FetchClient client;
    private IdleMemory idle;
    private DataDirectory directory;
    private SlabStore store;
    private String choice;
    private boolean storeTried;
    private boolean closed;

    private ShuffleEngine(SparkEnv env, VerbenaConf settings, ShuffleFiles files, CoreStart core, SlabBudget budget) {
        this.env = env;
        this.settings = settings;
        this.files = files;
        this.context = core.context();
        this.engine = core.engine();
        this.budget = budget;
        this.memory = new DirectMemory(TaskSlots.buffers(env.conf()));
        this.neighbours = new HostLocalSlabs(context, ROOT, application());
        this.neighbourBlocks = new NeighbourBlocks(env);
    }

    /**
     * Starts the native context and, unless encryption forbids it, takes over block transfers.
     *
     * @throws IOException when the native core does not start
     */
    static ShuffleEngine start(SparkEnv env, VerbenaConf settings, SparkShim shim, ShuffleFiles files)
            throws Exception {
        SparkConf conf = env.conf();
        ShuffleCompression.follow(env, conf); // where the manager, of Spark 3.5, is older than the environment
        byte[] key = jobKey(env);
        boolean transfers = conf.getBoolean(DriverSetup.REMOTE, false);
        Map<String, String> settingsOfCore = CoreStart.settings(settings, DriverSetup.mustEncrypt(conf, settings));
        String host = CoreStart.address(env.blockManager().blockManagerId().host(), settingsOfCore);
        CoreStart core = CoreStart.open(() -> new VbnConfig().jobKey(key)
                .log(new PluginLog(LOG::error, LOG::warn, LOG::info, LOG::debug))
                .set("tl.tcp.interface", host).set("proto.checksum", Boolean.toString(checksums(conf))),
            settingsOfCore, transfers, isExecutor(env), conf);
        SlabBudget budget = SlabBudget.here(conf, settings, ROOT);
        ShuffleEngine engine = new ShuffleEngine(env, settings, files, core, budget);
        try {
            if (transfers) {
                engine.takeOverTransfers(shim);
            }
        } catch (Exception | LinkageError e) {
            engine.close();
            throw e;
        }
        engine.announce();
        engine.idle = engine.isExecutor() ? new IdleMemory(engine) : null;
        return engine;
    }

    /** The line by which users see what they have. */
    private void announce() throws IOException {
        String place = isExecutor() ? budget.bytes() == 0 ? "map outputs in Spark's files (" + budget.why() + ")"
            : "map outputs in memory, at most " + (budget.bytes() >> 20) + " MiB in " + ROOT + " (" + budget.why() + ")"
            : "map outputs are the executors'";
        String transfer = client == null ? "Spark's transport, because its network encryption is on"
            : server.transports() + (DriverSetup.mustEncrypt(env.conf(), settings) ? " (TCP with TLS)" : "") + " from "
                + context.setting("tl.tcp.interface") + ", "
                + (settings.fallbackAllowed() ? "else by Spark's transport" : "never by Spark's (spark.verbena.fallback)");
        choice = place + "; blocks of other executors by " + transfer;
        LOG.info("Verbena {} on {}: {}", Build.VERSION, name(), choice);
        if (budget.warning() != null && isExecutor()) {
            LOG.warn("Verbena on {}: {}", name(), budget.warning());
        }
    }

    /** False on a driver that has no tasks. */
    private boolean isExecutor() {
        return isExecutor(env);
    }

    private static boolean isExecutor(SparkEnv env) {
        return !env.executorId().equals("driver") || ShuffleCompression.isLocal(env.conf());
    }

    private String name() {
        return name(env);
    }

    static String name(SparkEnv env) {
        return env.executorId().equals("driver") ? "the driver" : "executor " + env.executorId();
    }

    private void takeOverTransfers(SparkShim shim) throws Exception {
        BlockManager blocks = env.blockManager();
        BlockTransferService inner = blocks.blockTransferService();
        server = new FetchServer(engine, this::existingStore, blocks, traffic, networkTimeout(env.conf()), memory);
        client = new FetchClient(engine, inner, settings, networkTimeout(env.conf()), traffic, memory);
        if (DriverSetup.needsFiles(env.conf())) {
            client.leaveToSpark(StorageUtils$.MODULE$.externalShuffleServicePort(env.conf()));
        }
        BlockTransferService ours = shim.newTransferService(inner, client);
        boolean sameClient = blocks.blockStoreClient() == inner;
        set(blocks, "blockTransferService", ours);
        if (sameClient) {
            set(blocks, "blockStoreClient", ours);
        }
    }

    private static void set(BlockManager blocks, String name, Object value) throws ReflectiveOperationException {
        Field field = BlockManager.class.getDeclaredField(name);
        field.setAccessible(true);
        field.set(blocks, value);
    }

    /** Whether bytes are to be checked in memory and on the way: the user asks for it by name, Spark's default does not. */
    private static boolean checksums(SparkConf conf) {
        return conf.getBoolean("spark.shuffle.checksum.enabled", false);
    }

    private static long networkTimeout(SparkConf conf) {
        return conf.getTimeAsSeconds("spark.network.timeout", "120s");
    }

    /** Spark's authentication secret, else the random one that the driver made, bound to the application. */
    private static byte[] jobKey(SparkEnv env) throws GeneralSecurityException, IOException {
        String secret = env.conf().getBoolean("spark.authenticate", false) ? env.securityManager().getSecretKey()
            : env.conf().get(DriverSetup.SECRET, "");
        if (secret == null || secret.isEmpty()) {
            throw new IOException("no job key; set spark.plugins=" + VerbenaPlugin.class.getName() + " on the driver");
        }
        return JobKeys.derive(secret.getBytes(StandardCharsets.UTF_8), "verbena spark 1");
    }

    /** How many executors of this application share a host or container, as far as the configuration tells. */
    static int executorsPerHost(SparkConf conf) {
        String master = conf.get("spark.master", "");
        if (ContainerMemory.isSized(conf)) {
            return 1; // the container is its own, and small enough
        }
        boolean one = master.startsWith("local[") || master.equals("local") || master.startsWith("spark://");
        int all = Runtime.getRuntime().availableProcessors();
        return Math.max(1, all / Math.max(1, conf.getInt("spark.executor.cores", one ? all : 1)));
    }

    private String application() {
        return env.conf().get("spark.app.id", "application");
    }

    /** What to do when memory for map outputs gets scarce; it returns at once. */
    void whenNearlyFull(Runnable ask) {
        nearlyFull = ask;
    }

    /** The slab store, made at the first call; null when this host has no place for it. */
    public synchronized SlabStore store() {
        if (store == null && !storeTried && !closed && budget.bytes() > 0) {
            storeTried = true;
            try {
                directory = DataDirectory.create(ROOT, application(),
                    env.blockManager().diskBlockManager().localDirs()[0].getName(), budget.within().holders());
                directory.keep();
                store = new SlabStore(context, directory.path(), budget.bytes(), settings.chunk(),
                    checksums(env.conf()), files);
                DataDirectory own = directory;
                store.follow(() -> budget.sharedBy(own.executors()));
                store.whenNearlyFull(() -> nearlyFull.run());
            } catch (IOException | RuntimeException e) {
                LOG.warn("Verbena keeps map outputs of {} in Spark's files: {}", name(), e.toString());
                closeStore();
            }
        }
        return store;
    }

    @Override
    public synchronized SlabStore existingStore() {
        return store;
    }

    @Override
    public HostLocalSlabs neighbours() {
        return neighbours;
    }

    /** All numbers by name, the same names at every call. */
    public Map<String, Long> numbers() {
        return Numbers.collect(traffic, existingStore(), load(), context.counters());
    }

    private Load load() {
        return client == null ? Load.NONE : new Load(client.directBytes() + server.directBytes(), memory.bound(),
            server.waiting());
    }

    /** What this executor uses and why, in a sentence. */
    public String choice() {
        return choice;
    }

    @Override
    public Traffic traffic() {
        return traffic;
    }

    /** Objects of the native core that were not closed by their owners: 0, unless there is a bug. */
    public long leaks() {
        return context.counters().get("java.leaked");
    }

    @Override
    public byte[] address() {
        return server == null ? null : server.address();
    }

    @Override
    public NeighbourBlocks neighbourBlocks() {
        return neighbourBlocks;
    }

    /** Forgets a shuffle. */
    public void removeShuffle(int shuffleId) {
        SlabStore current = existingStore();
        if (current != null) {
            current.removeShuffle(shuffleId);
        }
    }

    private synchronized void closeStore() {
        if (store != null) {
            store.close();
            store = null;
        }
        if (directory != null) {
            try {
                directory.close();
            } catch (IOException e) {
                LOG.warn("cannot remove {}: {}", directory.path(), e.toString());
            }
            directory = null;
        }
    }

    /** Stops everything; transfers are Spark's again. Idempotent. */
    @Override
    public void close() {
        synchronized (this) {
            if (closed) {
                return;
            }
            closed = true;
        }
        LOG.info("Verbena on {} ends: {}", name(), Numbers.sentence(numbers()));
        if (idle != null) {
            idle.close();
        }
        if (client != null) {
            client.close();
        }
        if (server != null) {
            server.close();
        }
        if (engine != null) {
            engine.close();
        }
        neighbours.close();
        closeStore();
        context.close();
    }
}
