// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.net;

import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;

/**
 * An input of which the first bytes can be seen before they are read: who serves a connection depends on its first request. A
 * read gives what was seen and waits for no more. One thread.
 */
public final class PeekedInput extends InputStream {
    /** As many as Hadoop's own server reads of a request at once. */
    private static final int PIECE = 512;
    private static final ByteBuffer NOTHING = ByteBuffer.allocate(0);

    private final InputStream in;
    private ByteBuffer seen = NOTHING;

    PeekedInput(InputStream in) {
        this.in = in;
    }

    /**
     * The first bytes, which are read afterwards all the same. Waits for them.
     *
     * @param count how many; they are kept in the heap until they are read
     * @return the bytes; fewer when the input ends before
     * @throws IOException when reading fails, also by a time-out
     */
    public byte[] peek(int count) throws IOException {
        if (seen.remaining() < count) {
            fill(count);
        }
        byte[] bytes = new byte[Math.min(count, seen.remaining())];
        seen.get(seen.position(), bytes);
        return bytes;
    }

    private void fill(int count) throws IOException {
        byte[] bytes = new byte[Math.max(count, PIECE)];
        int have = seen.remaining();
        seen.get(seen.position(), bytes, 0, have);
        seen = ByteBuffer.wrap(bytes, 0, have);
        while (have < count) {
            int more = in.read(bytes, have, bytes.length - have);
            if (more < 0) {
                break;
            }
            have += more;
            seen = ByteBuffer.wrap(bytes, 0, have);
        }
    }

    /** Returns true when bytes were seen that are not read. */
    public boolean hasSeen() {
        return seen.hasRemaining();
    }

    /**
     * Leaves out bytes that were seen.
     *
     * @param count how many, at most as many as {@link #peek} gave
     */
    public void skipSeen(int count) {
        seen.position(seen.position() + count);
    }

    /**
     * Reads what was seen, as far as there is space; nothing else.
     *
     * @param destination takes it
     * @return bytes read
     */
    public int readSeen(ByteBuffer destination) {
        int count = Math.min(seen.remaining(), destination.remaining());
        destination.put(seen.slice().limit(count));
        seen.position(seen.position() + count);
        return count;
    }

    @Override
    public int read() throws IOException {
        return seen.hasRemaining() ? seen.get() & 0xff : in.read();
    }

    @Override
    public int read(byte[] bytes, int offset, int length) throws IOException {
        return seen.hasRemaining() ? readSeen(ByteBuffer.wrap(bytes, offset, length)) : in.read(bytes, offset, length);
    }

    @Override
    public void close() throws IOException {
        in.close();
    }
}
