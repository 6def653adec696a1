// SPDX-License-Identifier: Apache-2.0
// Who owns a volume.
package org.verbena.hadoop.hdfs.shared;

import java.io.IOException;
import java.io.StringReader;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Properties;

/**
 * The record of a process.
 *
 * @param node identity of the DataNode
 * @param host its host's name, for people
 * @param machine the boot of the host's kernel and the namespace of process ids: within both a process id has one meaning
 * @param pid the process
 * @param started when the process began, as the kernel counts: ids are used again
 * @param job the batch job, for people; empty without
 */
record Owner(String node, String host, String machine, long pid, String started, String job) {
    private static final Path BOOT = Path.of("/proc/sys/kernel/random/boot_id");
    private static final Path NAMESPACE = Path.of("/proc/self/ns/pid");
    private static final int START_FIELD = 19; // of /proc/PID/stat, behind the name

    /** This process, for a DataNode in it. */
    static Owner here(String node) throws IOException {
        long pid = ProcessHandle.current().pid();
        Map<String, String> env = System.getenv();
        String job = env.getOrDefault("SLURM_JOB_ID", env.getOrDefault("PBS_JOBID", ""));
        return new Owner(node, hostName(), machineHere(), pid, startOf(pid), job);
    }

    private static String hostName() {
        try {
            return InetAddress.getLocalHost().getHostName();
        } catch (UnknownHostException e) {
            return "unknown";
        }
    }

    private static String machineHere() throws IOException {
        return Files.readString(BOOT).trim() + "/" + Files.readSymbolicLink(NAMESPACE);
    }

    /** Empty when there is no such process. */
    private static String startOf(long pid) {
        try {
            String stat = Files.readString(Path.of("/proc/" + pid + "/stat"));
            return stat.substring(stat.lastIndexOf(')') + 2).split(" ")[START_FIELD];
        } catch (IOException e) {
            return "";
        }
    }

    /** Whether the process has surely ended. False where this host cannot know. */
    boolean hasEnded() throws IOException {
        return machine.equals(machineHere()) && !started.equals(startOf(pid));
    }

    String text() {
        return "node=" + node + "\nhost=" + host + "\nmachine=" + machine + "\npid=" + pid + "\nstarted=" + started + "\njob=" + job
            + "\n";
    }

    /** Reads a record. One that is not whole, because its writer has just made it or has died then, names nobody. */
    static Owner of(String text) throws IOException {
        Properties all = new Properties();
        try {
            all.load(new StringReader(text));
            return new Owner(all.getProperty("node", ""), all.getProperty("host", "unknown"), all.getProperty("machine", ""),
                Long.parseLong(all.getProperty("pid", "0")), all.getProperty("started", ""), all.getProperty("job", ""));
        } catch (IllegalArgumentException e) {
            return new Owner("", "unknown", "", 0, "", "");
        }
    }

    @Override
    public String toString() {
        return "process " + pid + " of host " + host + (job.isEmpty() ? "" : " in job " + job) + " (DataNode " + node + ")";
    }
}
