// SPDX-License-Identifier: Apache-2.0
// Permissions and owners of files and folders.
package org.verbena.hadoop.lustre;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFileAttributeView;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.nio.file.attribute.UserPrincipalLookupService;
import java.util.Set;
import org.apache.hadoop.fs.ParentNotDirectoryException;
import org.apache.hadoop.fs.permission.FsPermission;

/**
 * The process' umask may only narrow what open(2) and mkdir(2) are asked for, and Hadoop has a umask of its own, which was applied
 * already: the exact mode is set after that. The set-group bit that a folder inherits stays.
 */
final class Modes {
    private static final String MODE = "unix:mode";
    private static final int ALL = 07777;
    private static final int SET_IDS = 06000;
    private static final int OWNER_PASSES = 0300; // an owner may always make files below a folder on the way to a new one

    private Modes() {
    }

    static void set(Path file, FsPermission wanted) throws IOException {
        int now = (Integer) Files.getAttribute(file, MODE) & ALL;
        int mode = Files.isDirectory(file) ? wanted.toShort() | now & SET_IDS : wanted.toShort();
        if (mode != now) {
            Files.setAttribute(file, MODE, mode);
        }
    }

    /** user, group: null for the one that stays. */
    static void own(Path file, String user, String group) throws IOException {
        PosixFileAttributeView view = Files.getFileAttributeView(file, PosixFileAttributeView.class);
        UserPrincipalLookupService names = file.getFileSystem().getUserPrincipalLookupService();
        if (user != null) {
            view.setOwner(names.lookupPrincipalByName(user));
        }
        if (group != null) {
            view.setGroup(names.lookupPrincipalByGroupName(group));
        }
    }

    private static FileAttribute<Set<PosixFilePermission>> atMost(FsPermission wanted) {
        FsPermission plain = new FsPermission((short) (wanted.toShort() & 0777));
        return PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString(text(plain)));
    }

    private static String text(FsPermission plain) {
        return plain.getUserAction().SYMBOL + plain.getGroupAction().SYMBOL + plain.getOtherAction().SYMBOL;
    }

    /** Makes a file that is not there, open for writing. */
    static FileChannel create(Path file, FsPermission wanted) throws IOException {
        FileChannel channel = FileChannel.open(file, Set.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE),
            atMost(wanted));
        try {
            set(file, wanted);
            return channel;
        } catch (IOException | RuntimeException e) {
            channel.close();
            throw e;
        }
    }

    /** Makes a folder and those above it that are missing; one that is there stays as it is. */
    static void makeFolders(Path folder, FsPermission wanted) throws IOException {
        if (Files.isDirectory(folder)) {
            return;
        }
        try {
            makeOne(folder, wanted);
        } catch (NoSuchFileException e) {
            makeFolders(folder.getParent(), new FsPermission((short) (wanted.toShort() | OWNER_PASSES)));
            makeOne(folder, wanted);
        }
    }

    private static void makeOne(Path folder, FsPermission wanted) throws IOException {
        try {
            Files.createDirectory(folder, atMost(wanted));
            set(folder, wanted);
        } catch (FileAlreadyExistsException e) {
            if (!Files.isDirectory(folder)) {
                throw new ParentNotDirectoryException(folder + " is a file");
            }
        }
    }
}
