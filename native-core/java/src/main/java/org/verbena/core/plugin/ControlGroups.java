// SPDX-License-Identifier: Apache-2.0
// The memory limit of the container that this process is in, from control groups of both versions.
package org.verbena.core.plugin;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * A process's group is named in /proc/self/cgroup, where its files are in /proc/self/mountinfo; limits of all groups
 * above count too. Inside a container, the mount shows the container's own group as its root.
 */
public final class ControlGroups {
    private static final List<String> UNIFIED = List.of("memory.max", "memory.high");
    private static final List<String> SEPARATE = List.of("memory.limit_in_bytes");

    private final Path root;
    private final Map<String, Long> limits = new LinkedHashMap<>();

    private ControlGroups(Path root) {
        this.root = root;
    }

    /**
     * A limit of memory that all processes below it share.
     *
     * @param holder what has the limit, by a name that is the same in all containers of the host
     * @param bytes most bytes of all of them together
     */
    public record Limit(String holder, long bytes) {
    }

    /**
     * The lowest limit; Long.MAX_VALUE when there is none.
     *
     * @param root where proc and the mount points are: "/"
     * @throws IOException when the kernel's files cannot be read
     */
    public static long memoryLimit(Path root) throws IOException {
        return memoryLimits(root).stream().mapToLong(Limit::bytes).min().orElse(Long.MAX_VALUE);
    }

    /**
     * The limits of the groups that this process is in, one for each group that has one; a group is known by the device and the
     * inode of its directory, which no namespace changes.
     *
     * @param root where proc and the mount points are: "/"
     * @throws IOException when the kernel's files cannot be read
     */
    public static List<Limit> memoryLimits(Path root) throws IOException {
        ControlGroups groups = new ControlGroups(root);
        Path self = root.resolve("proc/self");
        if (!Files.isReadable(self.resolve("cgroup")) || !Files.isReadable(self.resolve("mountinfo"))) {
            return List.of();
        }
        for (String line : Files.readAllLines(self.resolve("cgroup"), StandardCharsets.UTF_8)) {
            String[] parts = line.split(":", 3); // hierarchy, controllers, path
            if (parts.length == 3 && parts[1].isEmpty()) {
                groups.look("cgroup2", "", parts[2], UNIFIED);
            } else if (parts.length == 3 && List.of(parts[1].split(",")).contains("memory")) {
                groups.look("cgroup", "memory", parts[2], SEPARATE);
            }
        }
        return groups.limits.entrySet().stream().map(limit -> new Limit(limit.getKey(), limit.getValue())).toList();
    }

    /** Finds the mounts of this kind: ID PARENT MAJOR:MINOR ROOT POINT OPTIONS... - TYPE SOURCE SUPER-OPTIONS. */
    private void look(String type, String controller, String group, List<String> files) throws IOException {
        for (String line : Files.readAllLines(root.resolve("proc/self/mountinfo"), StandardCharsets.UTF_8)) {
            String[] halves = line.split(" - ", 2);
            String[] mount = halves[0].split(" ");
            String[] system = halves.length < 2 ? new String[0] : halves[1].split(" ");
            if (mount.length > 4 && system.length > 2 && system[0].equals(type)
                    && (controller.isEmpty() || List.of(system[2].split(",")).contains(controller))) {
                climb(root.resolve(mount[4].substring(1)), below(mount[3], group), files);
            }
        }
    }

    /** The group's path below the mount point. */
    private static String below(String mounted, String group) {
        String path = !mounted.equals("/") && group.startsWith(mounted) ? group.substring(mounted.length()) : group;
        return path.contains("..") ? "" : path.replaceFirst("^/+", "");
    }

    private void climb(Path mount, String group, List<String> files) throws IOException {
        Path directory = mount.resolve(group);
        if (!Files.isDirectory(directory)) {
            directory = mount; // the group is not visible from here
        }
        while (directory != null && directory.startsWith(mount)) {
            for (String name : files) {
                Path file = directory.resolve(name);
                String text = Files.isReadable(file) ? Files.readString(file).strip() : "max";
                if (text.matches("[0-9]{1,18}")) {
                    limits.merge(holder(directory), Long.parseLong(text), Math::min);
                }
            }
            directory = directory.getParent();
        }
    }

    private static String holder(Path group) throws IOException {
        return "group-" + Files.getAttribute(group, "unix:dev") + "-" + Files.getAttribute(group, "unix:ino");
    }
}
