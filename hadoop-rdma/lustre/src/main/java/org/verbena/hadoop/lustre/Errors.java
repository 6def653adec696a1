// SPDX-License-Identifier: Apache-2.0
// Errors of java.nio as those that Hadoop's callers expect.
package org.verbena.hadoop.lustre;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.channels.ClosedByInterruptException;
import java.nio.file.AccessDeniedException;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.PathIsNotEmptyDirectoryException;
import org.apache.hadoop.security.AccessControlException;

/** Each names the path of lustre: and the kernel's reason. */
final class Errors {
    private Errors() {
    }

    static IOException of(IOException error, Path path) {
        IOException known = known(error, path);
        if (known != error) {
            known.initCause(error);
        }
        return known;
    }

    private static IOException known(IOException error, Path path) {
        if (error instanceof NoSuchFileException) {
            return new FileNotFoundException("File does not exist: " + path);
        }
        if (error instanceof AccessDeniedException) {
            return new AccessControlException("Permission denied: user=" + System.getProperty("user.name") + ", path=" + path);
        }
        if (error instanceof FileAlreadyExistsException) {
            return new org.apache.hadoop.fs.FileAlreadyExistsException(path + " already exists");
        }
        if (error instanceof DirectoryNotEmptyException) {
            return new PathIsNotEmptyDirectoryException(path.toString());
        }
        if (error instanceof ClosedByInterruptException) {
            return new InterruptedIOException(path + ": the thread was interrupted, and its file is closed");
        }
        if (error instanceof FileSystemException system && system.getReason() != null) {
            return new IOException(path + ": " + system.getReason());
        }
        return error;
    }
}
