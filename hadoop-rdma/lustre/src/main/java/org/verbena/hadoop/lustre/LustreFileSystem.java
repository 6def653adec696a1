// SPDX-License-Identifier: Apache-2.0
// Hadoop's file system lustre: over a directory that all hosts share.
package org.verbena.hadoop.lustre;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.net.URI;
import java.nio.channels.FileChannel;
import java.nio.file.DirectoryStream;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributeView;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.UserPrincipalNotFoundException;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.BlockLocation;
import org.apache.hadoop.fs.CommonPathCapabilities;
import org.apache.hadoop.fs.CreateFlag;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.FsStatus;
import org.apache.hadoop.fs.InvalidPathHandleException;
import org.apache.hadoop.fs.LocatedFileStatus;
import org.apache.hadoop.fs.MultipartUploaderBuilder;
import org.apache.hadoop.fs.Options;
import org.apache.hadoop.fs.ParentNotDirectoryException;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.PathFilter;
import org.apache.hadoop.fs.PathHandle;
import org.apache.hadoop.fs.PathIOException;
import org.apache.hadoop.fs.RemoteIterator;
import org.apache.hadoop.fs.impl.FileSystemMultipartUploaderBuilder;
import org.apache.hadoop.fs.impl.PathCapabilitiesSupport;
import org.apache.hadoop.fs.permission.FsCreateModes;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.util.Progressable;
import org.apache.hadoop.util.functional.RemoteIterators;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.verbena.hadoop.lustre.buffer.Buffer;
import org.verbena.hadoop.lustre.buffer.PlainSink;
import org.verbena.hadoop.lustre.buffer.Records;
import org.verbena.hadoop.lustre.buffer.Steps;

/**
 * Named by {@code fs.lustre.impl}. Files are those of the shared file system, under their own names and without checksum files;
 * its servers and the kernel keep bytes, names and permissions. A process acts as the user that the kernel knows it by.
 */
public final class LustreFileSystem extends FileSystem {
    /** What paths of this file system begin with. */
    public static final String SCHEME = "lustre";
    private static final Logger LOG = LoggerFactory.getLogger(LustreFileSystem.class);
    private static final URI NAME = URI.create(SCHEME + ":///");

    private LustreConf settings;
    private SharedRoot root;
    private Links links;
    private Locations locations;
    private NewFile newFile;
    private Buffer buffer;
    private Path working;

    /** Made by Hadoop. */
    public LustreFileSystem() {
        super();
    }

    @Override
    public void initialize(URI name, Configuration conf) throws IOException {
        super.initialize(name, conf);
        setConf(conf);
        if (name.getAuthority() != null) {
            throw new IOException(name + " names a host, and the file system has none: write lustre:///path");
        }
        try {
            settings = LustreConf.of(conf);
        } catch (IllegalArgumentException e) {
            throw new IOException(e.getMessage(), e);
        }
        root = new SharedRoot(settings);
        links = new Links(root.path());
        LfsTool lfs = LfsTool.find(settings.lfs());
        if (!lfs.isThere() && (settings.stripeSize() > 0 || settings.stripeCount() > 0)) {
            LOG.warn("Verbena: new files get the stripes of their folders: {}", lfs.reason());
        }
        locations = new Locations(settings, lfs);
        newFile = new NewFile(settings, lfs);
        buffer = new Buffer(root.path(), settings.buffer(), Steps.NONE);
        working = getInitialWorkingDirectory();
    }

    @Override
    public void close() throws IOException {
        try {
            super.close();
        } finally {
            if (buffer != null) {
                buffer.close();
            }
        }
    }

    @Override
    public String getScheme() {
        return SCHEME;
    }

    @Override
    public URI getUri() {
        return NAME;
    }

    /** There are no tokens: the kernel checks who a process is. */
    @Override
    public String getCanonicalServiceName() {
        return null;
    }

    @Override
    protected Path getInitialWorkingDirectory() {
        return makeQualified(getHomeDirectory());
    }

    @Override
    public Path getWorkingDirectory() {
        return working;
    }

    @Override
    public void setWorkingDirectory(Path path) {
        working = absolute(path);
    }

    /** With scheme, and with the working folder before it. */
    private Path absolute(Path path) {
        checkPath(path);
        return path.makeQualified(NAME, working == null ? new Path(NAME.getScheme(), null, Path.SEPARATOR) : working);
    }

    @Override
    @SuppressWarnings("deprecation") // callers without a path
    public long getDefaultBlockSize() {
        return settings.blockSize();
    }

    @Override
    public long getDefaultBlockSize(Path path) {
        return settings.blockSize();
    }

    // ------------------------------------------------------------------------------------------------ reading

    @Override
    public FSDataInputStream open(Path given, int bufferSize) throws IOException {
        Path path = absolute(given);
        java.nio.file.Path file = target(path);
        if (Files.isDirectory(file)) {
            throw new FileNotFoundException("Path is not a file: " + path);
        }
        statistics.incrementReadOps(1);
        try {
            return new FSDataInputStream(new LustreInput(buffer.open(file, path.toString()), path, statistics));
        } catch (IOException e) {
            throw Errors.of(e, path);
        }
    }

    /** As SharedRoot's, but what lies below a file does not exist. */
    private java.nio.file.Path target(Path path) throws IOException {
        try {
            return root.target(path);
        } catch (ParentNotDirectoryException e) {
            throw missing(path, e);
        }
    }

    private static FileNotFoundException missing(Path path, IOException cause) {
        FileNotFoundException missing = new FileNotFoundException("File does not exist: " + path);
        missing.initCause(cause);
        return missing;
    }

    @Override
    public FileStatus getFileStatus(Path given) throws IOException {
        Path path = absolute(given);
        statistics.incrementReadOps(1);
        return LustreStatus.of(target(path), settings.blockSize(), buffer.records(), path);
    }

    @Override
    public FileStatus[] listStatus(Path given) throws IOException {
        Path path = absolute(given);
        java.nio.file.Path folder = target(path);
        statistics.incrementReadOps(1);
        LustreStatus self = LustreStatus.of(folder, settings.blockSize(), buffer.records(), path);
        if (!self.isDirectory()) {
            return new FileStatus[] {self};
        }
        List<FileStatus> found = new ArrayList<>();
        try (DirectoryStream<java.nio.file.Path> entries = Files.newDirectoryStream(folder)) {
            for (java.nio.file.Path entry : entries) {
                if (entry.equals(root.path().resolve(Records.FOLDER))) {
                    continue;
                }
                FileStatus status = listed(entry, new Path(path, new Path(null, null, entry.getFileName().toString())));
                if (status != null) {
                    found.add(status);
                }
            }
        } catch (java.nio.file.DirectoryIteratorException e) {
            throw Errors.of(e.getCause(), path);
        } catch (IOException e) {
            throw Errors.of(e, path);
        }
        found.sort(null);
        return found.toArray(new FileStatus[0]);
    }

    /** Links are followed where that is possible, else they are listed as links; null: it has gone meanwhile. */
    private FileStatus listed(java.nio.file.Path entry, Path path) throws IOException {
        LustreStatus status;
        try {
            status = LustreStatus.of(entry, settings.blockSize(), buffer.records(), path, LinkOption.NOFOLLOW_LINKS);
        } catch (FileNotFoundException e) {
            return null;
        }
        if (!status.isLink()) {
            return status;
        }
        try {
            return LustreStatus.of(root.target(path), settings.blockSize(), buffer.records(), path);
        } catch (IOException e) {
            return links.status(entry, settings.blockSize(), path);
        }
    }

    @Override
    protected RemoteIterator<LocatedFileStatus> listLocatedStatus(Path path, PathFilter filter) throws IOException {
        return RemoteIterators.mappingRemoteIterator(RemoteIterators.remoteIteratorFromArray(listStatus(path, filter)),
            status -> new LustreStatus.Located((LustreStatus) status,
                status.isFile() ? getFileBlockLocations(status, 0, status.getLen()) : null));
    }

    @Override
    public BlockLocation[] getFileBlockLocations(FileStatus status, long start, long length) throws IOException {
        if (status == null) {
            return null; // as Hadoop's own
        }
        if (start < 0 || length < 0) {
            throw new IllegalArgumentException("a range begins and ends behind the first byte");
        }
        return start >= status.getLen() ? new BlockLocation[0]
            : locations.of(target(absolute(status.getPath())), status.getLen(), start, length);
    }

    @Override
    public FsStatus getStatus(Path given) throws IOException {
        Path path = absolute(given == null ? new Path(Path.SEPARATOR) : given);
        try {
            FileStore store = Files.getFileStore(target(path));
            return new FsStatus(store.getTotalSpace(), store.getTotalSpace() - store.getUnallocatedSpace(), store.getUsableSpace());
        } catch (IOException e) {
            throw Errors.of(e, path);
        }
    }

    // ------------------------------------------------------------------------------------------------ writing

    private FsPermission masked(FsPermission wanted) {
        return FsCreateModes.applyUMask(wanted, FsPermission.getUMask(getConf()));
    }

    @Override
    public FSDataOutputStream create(Path path, FsPermission permission, boolean overwrite, int bufferSize, short replication,
            long blockSize, Progressable progress) throws IOException {
        return make(absolute(path), masked(permission == null ? FsPermission.getFileDefault() : permission), overwrite, true);
    }

    @Override
    public FSDataOutputStream createNonRecursive(Path path, FsPermission permission, EnumSet<CreateFlag> flags, int bufferSize,
            short replication, long blockSize, Progressable progress) throws IOException {
        return make(absolute(path), masked(permission == null ? FsPermission.getFileDefault() : permission),
            flags.contains(CreateFlag.OVERWRITE), false);
    }

    @Override
    @SuppressWarnings("deprecation") // FileContext calls it
    protected FSDataOutputStream primitiveCreate(Path path, FsPermission absolutePermission, EnumSet<CreateFlag> flags,
            int bufferSize, short replication, long blockSize, Progressable progress, Options.ChecksumOpt checksum)
            throws IOException {
        CreateFlag.validate(path, exists(path), flags);
        if (flags.contains(CreateFlag.APPEND) && exists(path)) {
            return append(path, bufferSize, progress);
        }
        return make(absolute(path), absolutePermission, flags.contains(CreateFlag.OVERWRITE), true);
    }

    private FSDataOutputStream make(Path path, FsPermission mode, boolean overwrite, boolean parents) throws IOException {
        java.nio.file.Path file = root.target(path);
        statistics.incrementWriteOps(1);
        try {
            if (parents) {
                Modes.makeFolders(file.getParent(), masked(FsPermission.getDirDefault()));
            }
            FileChannel channel = newFile.create(file, path, mode, overwrite);
            return new FSDataOutputStream(new LustreOutput(buffer.sink(channel, file, path.toString()), 0, file, path), statistics);
        } catch (IOException e) {
            throw Errors.of(e, path);
        }
    }

    @Override
    public FSDataOutputStream append(Path given, int bufferSize, Progressable progress) throws IOException {
        Path path = absolute(given);
        java.nio.file.Path file = target(path);
        if (Files.isDirectory(file)) {
            throw new FileNotFoundException("Path is not a file: " + path);
        }
        statistics.incrementWriteOps(1);
        try {
            buffer.settle(file);
            FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE);
            long end = channel.size();
            channel.position(end);
            return new FSDataOutputStream(new LustreOutput(new PlainSink(channel), end, file, path), statistics, end);
        } catch (IOException e) {
            throw Errors.of(e, path);
        }
    }

    @Override
    public boolean truncate(Path given, long length) throws IOException {
        Path path = absolute(given);
        java.nio.file.Path file = target(path);
        if (Files.isDirectory(file)) {
            throw new FileNotFoundException("Path is not a file: " + path);
        }
        buffer.settle(file);
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
            if (length < 0 || length > channel.size()) {
                throw new IllegalArgumentException("cannot truncate " + path + " of " + channel.size() + " bytes to " + length);
            }
            channel.truncate(length);
            return true;
        } catch (IOException e) {
            throw Errors.of(e, path);
        }
    }

    @Override
    public void concat(Path target, Path[] sources) throws IOException {
        Path path = absolute(target);
        List<java.nio.file.Path> files = new ArrayList<>();
        for (Path source : sources) {
            files.add(target(absolute(source)));
        }
        try {
            for (java.nio.file.Path file : files) {
                buffer.settle(file);
            }
            buffer.settle(target(path));
            Concatenation.run(target(path), files);
        } catch (IOException e) {
            throw Errors.of(e, path);
        }
    }

    @Override
    public boolean mkdirs(Path path, FsPermission permission) throws IOException {
        return makeFolders(path, masked(permission));
    }

    @Override
    @SuppressWarnings("deprecation") // FileContext calls it
    protected boolean primitiveMkdir(Path path, FsPermission absolutePermission) throws IOException {
        return makeFolders(path, absolutePermission);
    }

    private boolean makeFolders(Path given, FsPermission mode) throws IOException {
        Path path = absolute(given);
        java.nio.file.Path folder = root.target(path);
        statistics.incrementWriteOps(1);
        if (Files.isRegularFile(folder)) {
            throw new org.apache.hadoop.fs.FileAlreadyExistsException(path + " is a file");
        }
        try {
            Modes.makeFolders(folder, mode);
            return true;
        } catch (IOException e) {
            throw Errors.of(e, path);
        }
    }

    // ---------------------------------------------------------------------------------------------- names

    @Override
    public boolean rename(Path source, Path destination) throws IOException {
        Path from = absolute(source);
        Path to = absolute(destination);
        statistics.incrementWriteOps(1);
        try {
            java.nio.file.Path file = root.entry(from);
            java.nio.file.Path wanted = root.target(to);
            return Renaming.rename(root.path(), file, wanted);
        } catch (ParentNotDirectoryException e) {
            return false;
        } catch (IOException e) {
            throw Errors.of(e, to);
        }
    }

    @Override
    @SuppressWarnings("deprecation") // FileContext calls it
    protected void rename(Path source, Path destination, Options.Rename... options) throws IOException {
        Path from = absolute(source);
        Path to = absolute(destination);
        statistics.incrementWriteOps(1);
        try {
            Renaming.rename(root.path(), root.entry(from), root.entry(to), List.of(options).contains(Options.Rename.OVERWRITE));
        } catch (IOException e) {
            throw Errors.of(e, to);
        }
    }

    /** The root stays: false when it is empty, and when all of it is asked for. */
    @Override
    public boolean delete(Path given, boolean recursive) throws IOException {
        Path path = absolute(given);
        statistics.incrementWriteOps(1);
        java.nio.file.Path file;
        try {
            file = root.entry(path);
        } catch (ParentNotDirectoryException e) {
            return false;
        }
        if (file.equals(root.path())) {
            if (!recursive && listStatus(path).length > 0) {
                throw new PathIOException(path.toString(), "the root cannot be deleted");
            }
            return false;
        }
        try {
            return recursive ? Removal.run(file) : Files.deleteIfExists(file);
        } catch (IOException e) {
            throw Errors.of(e, path);
        }
    }

    @Override
    public boolean supportsSymlinks() {
        return true;
    }

    @Override
    public void createSymlink(Path target, Path given, boolean createParent) throws IOException {
        Path link = absolute(given);
        Path behind = target.isAbsolute() ? absolute(target) : new Path(link.getParent(), target);
        try {
            if (createParent) {
                Modes.makeFolders(root.entry(link).getParent(), masked(FsPermission.getDirDefault()));
            }
            links.create(root.entry(link), root.target(behind));
        } catch (NoSuchFileException e) {
            throw new FileNotFoundException("Parent directory doesn't exist: " + link.getParent());
        } catch (IOException e) {
            throw Errors.of(e, link);
        }
    }

    @Override
    public FileStatus getFileLinkStatus(Path given) throws IOException {
        Path path = absolute(given);
        java.nio.file.Path file;
        try {
            file = root.entry(path);
        } catch (ParentNotDirectoryException e) {
            throw missing(path, e);
        }
        return Files.isSymbolicLink(file) ? links.status(file, settings.blockSize(), path)
            : LustreStatus.of(file, settings.blockSize(), buffer.records(), path);
    }

    @Override
    public Path getLinkTarget(Path given) throws IOException {
        Path path = absolute(given);
        java.nio.file.Path file = root.entry(path);
        if (!Files.isSymbolicLink(file)) {
            throw new IOException("Path " + path + " is not a symbolic link");
        }
        return links.target(file);
    }

    @Override
    protected Path resolveLink(Path path) throws IOException {
        return getLinkTarget(path);
    }

    // ------------------------------------------------------------------------------------------- attributes

    @Override
    public void setPermission(Path given, FsPermission permission) throws IOException {
        Path path = absolute(given);
        try {
            Modes.set(target(path), permission);
        } catch (IOException e) {
            throw Errors.of(e, path);
        }
    }

    @Override
    public void setOwner(Path given, String user, String group) throws IOException {
        Path path = absolute(given);
        if (user == null && group == null) {
            throw new IOException("user and group are both missing");
        }
        try {
            Modes.own(target(path), user, group);
        } catch (UserPrincipalNotFoundException e) {
            throw new IOException(path + ": this host knows no user or group " + e.getName(), e);
        } catch (IOException e) {
            throw Errors.of(e, path);
        }
    }

    @Override
    public void setTimes(Path given, long modified, long accessed) throws IOException {
        Path path = absolute(given);
        try {
            buffer.settle(target(path));
            Files.getFileAttributeView(target(path), BasicFileAttributeView.class).setTimes(
                modified < 0 ? null : FileTime.fromMillis(modified), accessed < 0 ? null : FileTime.fromMillis(accessed), null);
        } catch (IOException e) {
            throw Errors.of(e, path);
        }
    }

    // --------------------------------------------------------------------------------------------- handles

    /** For a file that stays where it is: POSIX opens nothing by its inode. */
    @Override
    protected PathHandle createPathHandle(FileStatus status, Options.HandleOpt... options) {
        if (status.isDirectory() || status.isSymlink() || !(status instanceof LustreStatus known)) {
            throw new IllegalArgumentException("a handle is for a file, with the status that this file system gave");
        }
        boolean mayMove = Options.HandleOpt.getOpt(Options.HandleOpt.Location.class, options)
            .orElse(Options.HandleOpt.moved(false)).allowChange();
        boolean mayChange = Options.HandleOpt.getOpt(Options.HandleOpt.Data.class, options)
            .orElse(Options.HandleOpt.changed(false)).allowChange();
        if (mayMove) {
            throw new UnsupportedOperationException("a file that has moved cannot be found, as POSIX opens nothing by its inode: "
                + "ask for a handle without moved, such as HandleOpt.exact() or HandleOpt.path()");
        }
        return new LustreHandle(absolute(status.getPath()).toUri().getPath(), mayChange ? "" : known.getEtag());
    }

    @Override
    public FSDataInputStream open(PathHandle given, int bufferSize) throws IOException {
        LustreHandle handle = LustreHandle.of(given);
        Path path = new Path(SCHEME, null, handle.path());
        try {
            FSDataInputStream input = open(path, bufferSize);
            FileStatus now = getFileStatus(path);
            if (handle.etag().isEmpty() || handle.etag().equals(((LustreStatus) now).getEtag())) {
                return input;
            }
            input.close();
            throw new InvalidPathHandleException(path + " has changed since the handle was made");
        } catch (FileNotFoundException e) {
            throw new InvalidPathHandleException(path + " is not there any more", e);
        }
    }

    @Override
    @SuppressWarnings("rawtypes") // Hadoop's own declaration
    public MultipartUploaderBuilder createMultipartUploader(Path base) {
        return new FileSystemMultipartUploaderBuilder(this, base);
    }

    @Override
    public boolean hasPathCapability(Path path, String capability) throws IOException {
        return switch (PathCapabilitiesSupport.validatePathCapabilityArgs(makeQualified(path), capability)) {
            case CommonPathCapabilities.FS_APPEND, CommonPathCapabilities.FS_CONCAT, CommonPathCapabilities.FS_PATHHANDLES,
                CommonPathCapabilities.FS_PERMISSIONS, CommonPathCapabilities.FS_SYMLINKS, CommonPathCapabilities.FS_TRUNCATE,
                CommonPathCapabilities.FS_MULTIPART_UPLOADER, CommonPathCapabilities.ETAGS_AVAILABLE,
                CommonPathCapabilities.ETAGS_PRESERVED_IN_RENAME -> true;
            default -> super.hasPathCapability(path, capability);
        };
    }
}
