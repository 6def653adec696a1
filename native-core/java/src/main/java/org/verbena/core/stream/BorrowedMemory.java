// SPDX-License-Identifier: Apache-2.0
package org.verbena.core.stream;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.verbena.core.VbnException;
import org.verbena.core.VbnKey;
import org.verbena.core.VbnStatus;

/** A peer's {@link LentMemory}, mapped here. Bytes may change under a reader if the peer is malicious, and nothing else happens. */
final class BorrowedMemory {
    /** More is not mapped here. */
    static final int MOST = 64 << 20;

    private final VbnKey key;
    private final ByteBuffer view;

    /** Takes a key whose memory is mapped as the view. */
    BorrowedMemory(VbnKey key, ByteBuffer view) {
        this.key = key;
        this.view = view;
    }

    /** The bytes that a LENT frame names. */
    ByteBuffer bytes(ByteBuffer header) throws VbnException {
        ByteBuffer in = header.duplicate().order(ByteOrder.LITTLE_ENDIAN);
        long offset = Integer.toUnsignedLong(in.getInt(in.position() + StreamFrame.BYTES));
        long length = length(header);
        if (length == 0 || length > view.capacity() || offset > view.capacity() - length) {
            throw new VbnException(VbnStatus.PROTOCOL, length + " bytes at " + offset + " of " + view.capacity() + " lent bytes");
        }
        return view.slice((int) offset, (int) length);
    }

    /** How many bytes a LENT frame names. */
    static long length(ByteBuffer header) {
        ByteBuffer in = header.duplicate().order(ByteOrder.LITTLE_ENDIAN);
        return Integer.toUnsignedLong(in.getInt(in.position() + StreamFrame.BYTES + Integer.BYTES));
    }

    void close() {
        key.close();
    }
}
