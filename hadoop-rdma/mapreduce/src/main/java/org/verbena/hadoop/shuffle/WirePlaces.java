// SPDX-License-Identifier: Apache-2.0
// The places in an answer to a LOOKUP.
package org.verbena.hadoop.shuffle;

import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import org.verbena.core.VbnException;
import org.verbena.core.VbnStatus;

/** Written behind the lengths ({@link Wire}), as far as the message has space: the core brings map outputs without a place. */
final class WirePlaces {
    /** Most folders of a node, and the longest name of one in bytes: so the list leaves space for the places. */
    static final int MAX_FOLDERS = 64;
    static final int MAX_FOLDER_NAME = 256;
    private static final int MAX_PATH = 4096;
    private static final int MAX_BYTES = Wire.MAX_REQUEST_BYTES - Wire.SIZE_BYTES * Wire.MAX_RANGES;
    private static final int PLACE_BYTES = 12;

    private WirePlaces() {
    }

    /** @param places null for a map output that lies in none of the folders */
    static ByteBuffer write(List<Wire.Folder> folders, List<Wire.Place> places) {
        ByteBuffer out = ByteBuffer.allocateDirect(MAX_BYTES).order(ByteOrder.LITTLE_ENDIAN);
        out.putShort((short) folders.size());
        for (Wire.Folder folder : folders) {
            putText(out.put(HexFormat.of().parseHex(folder.mark())), folder.name().getBytes(StandardCharsets.UTF_8));
        }
        int waiting = places.size();
        for (Wire.Place place : places) {
            waiting--;
            byte[] path = place == null ? new byte[0] : place.path().getBytes(StandardCharsets.UTF_8);
            boolean fits = path.length <= MAX_PATH && path.length + (1 + waiting) * PLACE_BYTES <= out.remaining();
            out.putShort((short) (place == null || !fits ? -1 : folders.indexOf(place.folder())));
            putText(out.putLong(place == null ? 0 : place.offset()), fits ? path : new byte[0]);
        }
        return out.flip();
    }

    private static void putText(ByteBuffer out, byte[] text) {
        out.putShort((short) text.length).put(text);
    }

    /**
     * Reads places.
     *
     * @param count how many there have to be
     * @return null for each map output without one
     */
    static List<Wire.Place> read(ByteBuffer data, int count) throws VbnException {
        ByteBuffer in = data.slice().order(ByteOrder.LITTLE_ENDIAN);
        List<Wire.Folder> folders = new ArrayList<>();
        List<Wire.Place> places = new ArrayList<>();
        try {
            for (int left = in.getShort() & 0xffff; left > 0; left--) {
                byte[] mark = new byte[Wire.MARK_BYTES];
                in.get(mark);
                folders.add(new Wire.Folder(HexFormat.of().formatHex(mark), text(in)));
                if (folders.size() > MAX_FOLDERS) {
                    throw malformed("more than " + MAX_FOLDERS + " folders");
                }
            }
            while (places.size() < count) {
                places.add(place(in, folders));
            }
        } catch (BufferUnderflowException e) {
            throw malformed("it ends within place " + places.size());
        }
        if (in.hasRemaining()) {
            throw malformed(in.remaining() + " bytes behind the places");
        }
        return places;
    }

    private static Wire.Place place(ByteBuffer in, List<Wire.Folder> folders) throws VbnException {
        int folder = in.getShort();
        long offset = in.getLong();
        String path = text(in);
        if (folder < -1 || folder >= folders.size() || offset < 0) {
            throw malformed("a place in folder " + folder + " at " + offset);
        }
        return folder < 0 ? null : new Wire.Place(folders.get(folder), path, offset);
    }

    private static String text(ByteBuffer in) throws VbnException {
        int length = in.getShort() & 0xffff;
        if (length > MAX_PATH) {
            throw malformed("a path of " + length + " bytes");
        }
        byte[] bytes = new byte[length];
        in.get(bytes);
        return new String(bytes, StandardCharsets.UTF_8);
    }

    private static VbnException malformed(String what) {
        return new VbnException(VbnStatus.PROTOCOL, "malformed shuffle message: " + what);
    }
}
