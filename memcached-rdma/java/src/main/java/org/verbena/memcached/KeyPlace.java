// SPDX-License-Identifier: Apache-2.0
package org.verbena.memcached;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import org.verbena.memcached.config.ServerAddress;

/** Where the key of a server is: the file that is named, else the server's default one (../util/key_file.h). */
final class KeyPlace {
    private static final String VARIABLE = "VERBENA_MEMCACHED_KEY";

    private KeyPlace() {
    }

    /** User id of this process. */
    static int userId() throws IOException {
        return (Integer) Files.getAttribute(Path.of("/proc/self"), "unix:uid");
    }

    /**
     * Finds the file.
     *
     * @param named empty: none is
     * @throws IOException when there is no safe place for it; the message has the cure
     */
    static Path find(String named, ServerAddress server) throws IOException {
        String file = named.isEmpty() ? System.getenv(VARIABLE) : named;
        if (file != null) {
            return Path.of(file);
        }
        int user = userId();
        String name = "memcached-" + (server.isPath() ? pathNumber(server.host()) : Integer.toString(server.port())) + ".key";
        String session = System.getenv("XDG_RUNTIME_DIR");
        if (session != null && session.startsWith("/") && Files.isDirectory(Path.of(session))
            && (Integer) Files.getAttribute(Path.of(session), "unix:uid") == user) {
            Path place = Path.of(session, "verbena", name);
            if (Files.exists(place)) {
                return place;
            }
        }
        return ownFolder(user).resolve(name);
    }

    /** Others could have made it before. */
    private static Path ownFolder(int user) throws IOException {
        Path folder = Path.of("/tmp/verbena-" + user);
        if (Files.exists(folder, LinkOption.NOFOLLOW_LINKS)) {
            int mode = (Integer) Files.getAttribute(folder, "unix:mode", LinkOption.NOFOLLOW_LINKS);
            int owner = (Integer) Files.getAttribute(folder, "unix:uid", LinkOption.NOFOLLOW_LINKS);
            if (!Files.isDirectory(folder, LinkOption.NOFOLLOW_LINKS) || owner != user || (mode & 077) != 0) {
                throw new IOException("key file " + folder + ": is no folder that is this user's alone (mode 0700); remove it, or "
                    + "name a key file of your own");
            }
        }
        return folder;
    }

    /** A name for a socket's path, the same in every process: its FNV-1a. */
    private static String pathNumber(String path) {
        String real = path;
        try {
            real = Path.of(path).toRealPath().toString();
        } catch (IOException e) {
            real = path; // as the server, which names the file before the socket is there
        }
        long number = 0xcbf29ce484222325L;
        for (byte at : real.getBytes(StandardCharsets.UTF_8)) {
            number = (number ^ (at & 0xff)) * 0x100000001b3L;
        }
        return String.format("%016x", number);
    }
}
