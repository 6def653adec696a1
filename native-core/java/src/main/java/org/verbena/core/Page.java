// SPDX-License-Identifier: Apache-2.0
package org.verbena.core;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * The off-heap page that one engine shares with native code. Offsets and codes come from native-core/jni/jni_page.h, by the
 * generated {@link PageLayout}.
 *
 * <pre>
 *   0      control: u32 head (native: commands taken), u32 tail (Java: commands written)
 *   64     submission ring: SLOTS x 64 bytes; a command is one slot, followed by slots with its header bytes and its
 *          gather list (address, length pairs) when it has them; it never wraps: a NOP pads the end of the ring
 *   then   completions: EVENTS x 64 bytes, written from entry 0 by each poll
 *   then   receive area: header and data of small messages and error texts, valid until the next poll
 * </pre>
 *
 * One thread writes and reads all of it (natives run on the engine's thread), so there are no atomics.
 */
final class Page {
    static final int SLOTS = 2048;
    static final int EVENTS = 256;
    static final int RECEIVE_BYTES = 1 << 20;

    private static final int SLOT = PageLayout.PAGE_SLOT;
    /** Where fields lie in a command's first 8 bytes, which are written as one little-endian word. */
    private static final int ID_SHIFT = 8 * PageLayout.COMMAND_ID;
    private static final int HEADER_SHIFT = 8 * PageLayout.COMMAND_HEADER_BYTES;
    private static final int PARTS_SHIFT = 8 * PageLayout.COMMAND_PARTS;
    private static final int COMMANDS = PageLayout.CONTROL_BYTES;
    private static final int EVENTS_AT = COMMANDS + SLOTS * SLOT;
    private static final int RECEIVE_AT = EVENTS_AT + EVENTS * SLOT;

    /** The whole page, native order. */
    final ByteBuffer bytes;
    private final ByteBuffer receive;
    private int tail;

    Page() {
        bytes = ByteBuffer.allocateDirect(RECEIVE_AT + RECEIVE_BYTES + SLOT).alignedSlice(SLOT)
            .order(ByteOrder.nativeOrder());
        receive = bytes.slice(RECEIVE_AT, RECEIVE_BYTES);
    }

    /** Writes the operation's command; false, with nothing written, when the ring is too full. */
    boolean submit(Operation op, long token) {
        int headerSlots = (op.headerLength + SLOT - 1) / SLOT;
        int listSlots = op.parts > 1 ? (op.parts * PageLayout.PART_BYTES + SLOT - 1) / SLOT : 0;
        int needed = 1 + headerSlots + listSlots;
        int index = tail & SLOTS - 1;
        int pad = index + needed > SLOTS ? SLOTS - index : 0;
        int used = tail - bytes.getInt(PageLayout.CONTROL_HEAD);
        if (SLOTS - used < needed + pad) {
            return false;
        }
        if (pad > 0) {
            bytes.putLong(COMMANDS + index * SLOT, 0);
            tail += pad;
            index = 0;
        }
        int at = COMMANDS + index * SLOT;
        bytes.putLong(at, op.kind | op.id << ID_SHIFT | op.headerLength << HEADER_SHIFT | (long) op.parts << PARTS_SHIFT);
        bytes.putLong(at + PageLayout.COMMAND_TOKEN, token);
        bytes.putLong(at + PageLayout.COMMAND_HANDLE, op.handle);
        bytes.putLong(at + PageLayout.COMMAND_OFFSET, op.offset);
        bytes.putLong(at + PageLayout.COMMAND_ADDRESS, op.address);
        bytes.putLong(at + PageLayout.COMMAND_LENGTH, op.length);
        if (headerSlots > 0) {
            bytes.put(at + SLOT, op.header, 0, op.headerLength);
        }
        for (int i = 0, to = at + SLOT + headerSlots * SLOT; i < 2 * op.parts && listSlots > 0; i++, to += 8) {
            bytes.putLong(to, op.list[i]);
        }
        tail += needed;
        bytes.putInt(PageLayout.CONTROL_TAIL, tail);
        return true;
    }

    /** True when there are commands that no poll has taken. */
    boolean hasCommands() {
        return bytes.getInt(PageLayout.CONTROL_HEAD) != tail;
    }

    private static int event(int index) {
        return EVENTS_AT + index * SLOT;
    }

    int kind(int index) {
        return bytes.getInt(event(index) + PageLayout.EVENT_KIND);
    }

    int status(int index) {
        return bytes.getInt(event(index) + PageLayout.EVENT_STATUS);
    }

    /** Operations: the token. Messages: the id. */
    long token(int index) {
        return bytes.getLong(event(index) + PageLayout.EVENT_TOKEN);
    }

    long length(int index) {
        return bytes.getLong(event(index) + PageLayout.EVENT_LENGTH);
    }

    long peer(int index) {
        return bytes.getLong(event(index) + PageLayout.EVENT_PEER);
    }

    /** Handle of a large message's data, 0 for a small one. */
    long remote(int index) {
        return bytes.getLong(event(index) + PageLayout.EVENT_REMOTE);
    }

    private int receiveOffset(int index) {
        return bytes.getInt(event(index) + PageLayout.EVENT_RECEIVE_OFFSET);
    }

    private int headerLength(int index) {
        return bytes.getInt(event(index) + PageLayout.EVENT_HEADER_BYTES);
    }

    long uid(int index) {
        return bytes.getLong(event(index) + PageLayout.EVENT_UID);
    }

    /** The message's header, read-only view into the receive area. */
    ByteBuffer header(int index) {
        return receive.slice(receiveOffset(index), headerLength(index)).order(ByteOrder.nativeOrder());
    }

    /** A small message's data. */
    ByteBuffer data(int index) {
        return receive.slice(receiveOffset(index) + headerLength(index), (int) length(index))
            .order(ByteOrder.nativeOrder());
    }

    /** Error text of a failed operation or lost peer; empty when there is none. */
    byte[] text(int index) {
        byte[] text = new byte[headerLength(index)];
        receive.get(receiveOffset(index), text);
        return text;
    }
}
