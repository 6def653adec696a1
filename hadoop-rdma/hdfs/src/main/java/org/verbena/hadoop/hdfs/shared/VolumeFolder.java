// SPDX-License-Identifier: Apache-2.0
// One volume of the shared path, and who owns it.
package org.verbena.hadoop.hdfs.shared;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileTime;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.UUID;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A volume is a folder with three names for each owner it has had, whose numbers only grow:
 *
 * <pre>
 *   owner.N   the record of the N-th owner. An exclusive create makes it: one process has the number
 *   beat.N    its time of change moves on while the owner lives; zero: the owner has left
 *   data.N    Hadoop's volume. The N-th owner renames data.M to it, for an M that is less than N
 * </pre>
 *
 * <p>Invariants, which hold without any lock of the file system, as some mounts have none and others lock within one host:
 * V1 the owner is the process with the largest number. V2 data has one name at a time, so at most one process reaches it.
 * V3 a process that was an owner finds none of its paths any more, however long it slept: it can do no harm by a name. Files that
 * it still has open are copied before they are used ({@link VolumeData}). A folder that it makes anew by a name that the data had
 * is not taken for the volume, neither by others nor by itself.
 *
 * <p>One thread at a time until the volume is owned; then it may beat on one thread and leave on another.
 */
final class VolumeFolder {
    private static final Pattern OWNER = Pattern.compile("owner\\.([1-9][0-9]{0,8})");
    private static final Pattern DATA = Pattern.compile("data\\.([1-9][0-9]{0,8})");
    private static final String DRAFT = ".new-";
    private static final int LOOKS = 5; // a folder that is renamed while names are listed may be missed
    private static final long LOOK_MILLIS = 50;
    private static final long SECOND = 1000; // some file systems keep whole seconds

    private final Path folder;
    private volatile int number;
    private long beaten;

    private VolumeFolder(Path folder) {
        this.folder = folder;
    }

    /** All volumes in a folder. */
    static List<VolumeFolder> all(Path parent) throws IOException {
        List<VolumeFolder> found = new ArrayList<>();
        try (DirectoryStream<Path> names = Files.newDirectoryStream(parent)) {
            for (Path name : names) {
                if (!name.getFileName().toString().startsWith(".")) {
                    found.add(new VolumeFolder(name));
                }
            }
        }
        return found;
    }

    /** Makes a volume with its first owner. Nobody sees it before it is whole. */
    static VolumeFolder create(Path parent, Owner me) throws IOException {
        String name = UUID.randomUUID().toString();
        VolumeFolder draft = new VolumeFolder(SharedPath.make(parent.resolve(DRAFT + name)));
        Files.writeString(draft.record(1), me.text(), StandardOpenOption.CREATE_NEW);
        SharedPath.make(draft.data(1));
        draft.number = 1;
        draft.beat();
        VolumeFolder volume = new VolumeFolder(parent.resolve(name));
        Files.move(draft.folder, volume.folder, StandardCopyOption.ATOMIC_MOVE);
        volume.number = 1;
        volume.beaten = draft.beaten;
        return volume;
    }

    /** The volume's name, which it keeps. */
    String name() {
        return folder.getFileName().toString();
    }

    private Path record(int of) {
        return folder.resolve("owner." + of);
    }

    private Path beatOf(int of) {
        return folder.resolve("beat." + of);
    }

    private Path data(int of) {
        return folder.resolve("data." + of);
    }

    /** Where this process, its owner, has the data. */
    Path data() {
        return data(number);
    }

    /** The number of the owner; 0 when there is none. */
    int last() throws IOException {
        return numbers(OWNER).stream().mapToInt(Integer::intValue).max().orElse(0);
    }

    private List<Integer> numbers(Pattern pattern) throws IOException {
        List<Integer> found = new ArrayList<>();
        try (DirectoryStream<Path> names = Files.newDirectoryStream(folder)) {
            for (Path name : names) {
                Matcher matcher = pattern.matcher(name.getFileName().toString());
                if (matcher.matches()) {
                    found.add(Integer.parseInt(matcher.group(1)));
                }
            }
        }
        return found;
    }

    /** Who has a number. */
    Owner owner(int of) throws IOException {
        try {
            return Owner.of(Files.readString(record(of)));
        } catch (NoSuchFileException e) {
            return Owner.of("");
        }
    }

    /** The time of an owner's last beat, of no meaning but that it changes; 0 when the owner has left. */
    long pulse(int of) throws IOException {
        try {
            return Files.getLastModifiedTime(beatOf(of)).toMillis();
        } catch (NoSuchFileException e) {
            return -1; // the owner has not begun
        }
    }

    /**
     * Becomes the owner after a certain one.
     *
     * @param me this process
     * @param after the owner that is known to be gone
     * @return false when another process was faster
     */
    boolean claim(Owner me, int after) throws IOException {
        int next = after + 1;
        try {
            Files.writeString(record(next), me.text(), StandardOpenOption.CREATE_NEW);
        } catch (FileAlreadyExistsException e) {
            return false;
        }
        number = next;
        if (last() != next || !beatFirst() || !takeData() || last() != next) {
            Files.deleteIfExists(beatOf(next));
            Files.deleteIfExists(record(next));
            number = 0;
            return false;
        }
        for (int old : numbers(OWNER)) {
            if (old < next) {
                Files.deleteIfExists(beatOf(old));
                Files.deleteIfExists(record(old));
            }
        }
        return true;
    }

    private boolean beatFirst() throws IOException {
        beat();
        return true;
    }

    /** Renames the data of the last owner: a former one may have made folders by the name that the data had. */
    private boolean takeData() throws IOException {
        for (int look = 0; look < LOOKS; look++) {
            for (int old : numbers(DATA).stream().filter(of -> of < number).sorted(Comparator.reverseOrder()).toList()) {
                try {
                    Files.move(data(old), data(number), StandardCopyOption.ATOMIC_MOVE);
                    return true;
                } catch (NoSuchFileException e) {
                    if (isHeld()) {
                        return true; // a server of files that was asked twice answers so the second time
                    }
                }
            }
            pause();
        }
        return false;
    }

    private static void pause() throws IOException {
        try {
            Thread.sleep(LOOK_MILLIS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("interrupted while a volume was claimed", e);
        }
    }

    /** Whether this process is the owner: its data is where it had it (V2). */
    boolean isHeld() {
        return number > 0 && Files.isDirectory(data(number));
    }

    /**
     * Whether another process is the owner. A file system that does not answer is another matter.
     *
     * @throws IOException when nobody can tell
     */
    boolean isLost() throws IOException {
        boolean held = isHeld();
        if (last() > number && (!held || Files.isDirectory(data(last())))) {
            return true; // also where this process has made folders by the name that the data had
        } else if (held) {
            return false;
        }
        throw new NoSuchFileException(data(number).toString(), null, "no such file, and no other owner");
    }

    /** Shows that the owner lives. A time alone, for which a full file system has room. */
    synchronized void beat() throws IOException {
        if (number == 0) {
            return; // it has left
        }
        if (beaten == 0 && !Files.exists(beatOf(number))) {
            Files.createFile(beatOf(number));
        }
        beaten = Math.max(beaten + SECOND, System.currentTimeMillis());
        Files.setLastModifiedTime(beatOf(number), FileTime.fromMillis(beaten));
    }

    /** The owner leaves: its DataNode need not wait when it comes back. */
    synchronized void leave() throws IOException {
        if (isHeld()) {
            Files.setLastModifiedTime(beatOf(number), FileTime.fromMillis(0));
        }
        number = 0;
    }
}
