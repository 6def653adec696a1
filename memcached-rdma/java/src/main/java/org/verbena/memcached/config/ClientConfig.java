// SPDX-License-Identifier: Apache-2.0
package org.verbena.memcached.config;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;

/** A configuration text, {@code "SERVER,SERVER;OPTION;OPTION"}, with the options of the C client. Immutable. */
public final class ClientConfig {
    /** By which way requests go. */
    public enum Carrier {
        /** Messages where they are possible, else sockets. */
        AUTO,
        /** Requests fail if messages are not possible. */
        MESSAGES,
        /** No messages. */
        SOCKETS
    }

    private static final int MS_MAX = 86_400_000;
    private static final int SERVERS_MAX = 1024;
    private static final int WEIGHT_MAX = 65_535;
    private static final int PORT_MAX = 65_535;

    private final List<ServerAddress> servers;
    private int timeoutMs;
    private int connectMs;
    private String keyFile = "";
    private Carrier carrier;
    private boolean onesided;

    /** The options and their defaults, as in client/options.def. */
    enum Option {
        TIMEOUT("5000") {
            @Override
            void take(ClientConfig config, String value) {
                config.timeoutMs = milliseconds("timeout", value);
            }
        },
        CONNECT("3000") {
            @Override
            void take(ClientConfig config, String value) {
                config.connectMs = milliseconds("connect", value);
            }
        },
        KEY("") {
            @Override
            void take(ClientConfig config, String value) {
                config.keyFile = value;
            }
        },
        CARRIER("auto") {
            @Override
            void take(ClientConfig config, String value) {
                config.carrier = Arrays.stream(Carrier.values()).filter(carrier -> lower(carrier).equals(value)).findAny()
                    .orElseThrow(() -> wrong("carrier", value, "give auto, messages or sockets"));
            }
        },
        ONESIDED("on") {
            @Override
            void take(ClientConfig config, String value) {
                config.onesided = value.equals("on");
                if (!config.onesided && !value.equals("off")) {
                    throw wrong("onesided", value, "give on or off");
                }
            }
        };

        final String standard;

        Option(String standard) {
            this.standard = standard;
        }

        abstract void take(ClientConfig config, String value);
    }

    /**
     * Reads a text.
     *
     * @param text servers and options, for example {@code "a:11211,b:11211/?2;timeout=1000"}
     * @throws IllegalArgumentException when the text is wrong; the message has the cure
     */
    public ClientConfig(String text) {
        String[] words = text.split(";", -1);
        servers = readServers(words[0]);
        for (Option option : Option.values()) {
            option.take(this, option.standard);
        }
        for (int i = 1; i < words.length; i++) {
            if (!words[i].isEmpty()) {
                take(words[i]);
            }
        }
    }

    private static String lower(Enum<?> constant) {
        return constant.name().toLowerCase(java.util.Locale.ROOT);
    }

    private static IllegalArgumentException wrong(String what, String value, String cure) {
        return new IllegalArgumentException(what + " '" + (value.length() > 100 ? value.substring(0, 100) + "..." : value) + "': "
            + cure);
    }

    private static int number(String text, int least, int most) {
        int value = text.matches("[0-9]{1,9}") ? Integer.parseInt(text) : -1;
        return value < least || value > most ? -1 : value;
    }

    private static int milliseconds(String name, String value) {
        int ms = number(value, 1, MS_MAX);
        if (ms < 0) {
            throw wrong(name, value, "give milliseconds, from 1 to 86400000");
        }
        return ms;
    }

    private void take(String word) {
        int equals = word.indexOf('=');
        if (equals < 0) {
            throw wrong("option", word, "give NAME=VALUE");
        }
        for (Option option : Option.values()) {
            if (lower(option).equals(word.substring(0, equals))) {
                option.take(this, word.substring(equals + 1));
                return;
            }
        }
        throw wrong("option", word.substring(0, equals), "there are "
            + Arrays.stream(Option.values()).map(ClientConfig::lower).collect(Collectors.joining(", ")));
    }

    private static List<ServerAddress> readServers(String list) {
        String[] words = list.split(",", -1);
        if (words.length > SERVERS_MAX) {
            throw wrong("servers", list, "at most 1,024");
        }
        List<ServerAddress> servers = new ArrayList<>();
        for (String word : words) {
            servers.add(readServer(word));
        }
        return List.copyOf(servers);
    }

    private static ServerAddress readServer(String word) {
        int mark = word.indexOf("/?");
        int weight = mark < 0 ? 1 : number(word.substring(mark + 2), 1, WEIGHT_MAX);
        String place = mark < 0 ? word : word.substring(0, mark);
        if (weight < 0) {
            throw wrong("weight", word.substring(mark + 2), "give a number from 1 to 65535");
        }
        if (place.startsWith("/")) {
            return new ServerAddress(place, 0, weight);
        }
        int end = place.startsWith("[") ? place.indexOf(']') : -1;
        int colon = end >= 0 ? end + 1 : place.lastIndexOf(':');
        boolean bare = end < 0 && (colon < 0 || place.indexOf(':') != colon); // no port, or an IPv6 address without brackets
        String host = end >= 0 ? place.substring(1, end) : bare ? place : place.substring(0, colon);
        String port = bare || colon == place.length() ? "" : place.substring(colon);
        int number = port.isEmpty() ? ServerAddress.USUAL_PORT
            : port.charAt(0) == ':' ? number(port.substring(1), 1, PORT_MAX) : -1;
        if (host.isEmpty() || number < 0 || place.startsWith("[") && end < 0) {
            throw wrong("server", place, "give host:port, [v6]:port, or the path of a socket");
        }
        return new ServerAddress(host, number, weight);
    }

    /** Returns the servers, at least one. */
    public List<ServerAddress> servers() {
        return servers;
    }

    /** Returns the time of a call, in milliseconds. */
    public int timeoutMs() {
        return timeoutMs;
    }

    /** Returns the time of each step of connecting, in milliseconds. */
    public int connectMs() {
        return connectMs;
    }

    /** Returns the file with the servers' key; empty: none is named. */
    public String keyFile() {
        return keyFile;
    }

    /** Returns how requests go. */
    public Carrier carrier() {
        return carrier;
    }

    /** Returns whether gets may read a server's memory. */
    public boolean onesided() {
        return onesided;
    }
}
