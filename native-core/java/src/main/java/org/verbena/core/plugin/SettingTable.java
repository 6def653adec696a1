// SPDX-License-Identifier: Apache-2.0
package org.verbena.core.plugin;

import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.verbena.core.plugin.PluginSetting.Plugin;

/**
 * Reads and checks a plugin's settings in the host system's configuration. What is wrong is an
 * {@link IllegalArgumentException} that names the key and says what would be right. Not thread safe.
 */
public final class SettingTable {
    private static final String CORE = "core.";
    private static final Pattern SIZE = Pattern.compile("([0-9]{1,18})([kmgtp]?)b?");

    private final String prefix;
    /** Names of the plugin's settings, without prefix. */
    private final List<String> names;
    /** Settings of other plugins that share the prefix. */
    private final List<PluginSetting> others;
    private final Function<String, String> values;
    private final Map<String, String> core = new TreeMap<>();

    /**
     * Makes a plugin's table.
     *
     * @param plugin whose settings it has
     * @param values gives the value of a whole key, null when it is not set
     */
    public SettingTable(Plugin plugin, Function<String, String> values) {
        this.prefix = plugin.prefix();
        this.names = Stream.of(PluginSetting.values()).filter(setting -> setting.plugin() == plugin)
            .map(PluginSetting::shortKey).toList();
        this.others = Stream.of(PluginSetting.values())
            .filter(setting -> setting.plugin() != plugin && setting.plugin().prefix().equals(prefix)).toList();
        this.values = values;
    }

    /**
     * Checks the name of one entry of the configuration, and keeps it when it is a setting of the core.
     *
     * @param key a whole key; one without the prefix, or of another plugin with the same prefix, is not looked at
     * @param value its value
     * @throws IllegalArgumentException when there is no such setting
     */
    public void check(String key, String value) {
        if (!key.toLowerCase(Locale.ROOT).startsWith(prefix)) {
            return;
        }
        String name = key.substring(prefix.length());
        if (name.startsWith(CORE)) {
            core.put(name.substring(CORE.length()), value);
        } else if (!key.startsWith(prefix) || !names.contains(name) && !isOfOther(name)) {
            throw new IllegalArgumentException("unknown setting " + key + "; " + guess(name) + " settings are "
                + String.join(", ", names) + " and core.*");
        }
    }

    /** Returns the settings of the core that {@link #check} has met, without prefix; may be changed. */
    public Map<String, String> core() {
        return core;
    }

    private boolean isOfOther(String name) {
        return others.stream().anyMatch(other -> name.startsWith(other.plugin().part()));
    }

    /** Asks for the nearest name, the plugin's own if one is near, and begins the next sentence. */
    private String guess(String name) {
        return nearest(names.stream(), name).or(() -> nearest(others.stream().map(PluginSetting::shortKey), name))
            .map(nearest -> "did you mean " + prefix + nearest + "? The").orElse("the");
    }

    /** Empty when even the nearest one differs in more than half of its characters. */
    private static Optional<String> nearest(Stream<String> names, String name) {
        return names.min((a, b) -> Integer.compare(distance(a, name), distance(b, name)))
            .filter(nearest -> 2 * distance(nearest, name) <= Math.max(nearest.length(), name.length()));
    }

    /** Edits (inserted, removed and changed characters) between two names, case apart. */
    private static int distance(String a, String b) {
        String left = a.toLowerCase(Locale.ROOT);
        String right = b.toLowerCase(Locale.ROOT);
        int[] row = new int[right.length() + 1];
        for (int j = 0; j <= right.length(); j++) {
            row[j] = j;
        }
        for (int i = 1; i <= left.length(); i++) {
            int diagonal = row[0];
            row[0] = i;
            for (int j = 1; j <= right.length(); j++) {
                int above = row[j];
                int change = diagonal + (left.charAt(i - 1) == right.charAt(j - 1) ? 0 : 1);
                row[j] = Math.min(change, Math.min(above, row[j - 1]) + 1);
                diagonal = above;
            }
        }
        return row[right.length()];
    }

    /**
     * Makes the exception for a value that is not possible.
     *
     * @param setting whose value it is
     * @param wanted what would be right
     * @return the exception, to be thrown by the caller
     */
    public IllegalArgumentException bad(PluginSetting setting, String wanted) {
        return new IllegalArgumentException(setting + "=" + text(setting) + " is not possible; give " + wanted);
    }

    /**
     * Returns whether a setting has a value of the user's.
     *
     * @param setting one of the plugin's
     */
    public boolean isSet(PluginSetting setting) {
        return values.apply(setting.key()) != null;
    }

    /**
     * Returns a text.
     *
     * @param setting one of the plugin's
     * @return its value, else its default; null when it has none
     */
    public String text(PluginSetting setting) {
        String value = values.apply(setting.key());
        return value == null ? setting.defaultValue() : value;
    }

    /**
     * Returns a switch.
     *
     * @param setting one of the plugin's
     */
    public boolean bool(PluginSetting setting) {
        String value = text(setting);
        if (!value.equalsIgnoreCase("true") && !value.equalsIgnoreCase("false")) {
            throw bad(setting, "true or false");
        }
        return Boolean.parseBoolean(value);
    }

    /**
     * Returns one of several words.
     *
     * @param setting one of the plugin's
     */
    public String choice(PluginSetting setting) {
        String value = text(setting);
        if (!setting.words().contains(value)) {
            throw bad(setting, String.join(" or ", setting.words()));
        }
        return value;
    }

    /**
     * Returns a number.
     *
     * @param setting one of the plugin's
     */
    public long number(PluginSetting setting) {
        try {
            long number = Long.parseLong(text(setting));
            if (number >= setting.min() && number <= setting.max()) {
                return number;
            }
        } catch (NumberFormatException e) {
            throw notInBounds(setting, "a number", "");
        }
        throw notInBounds(setting, "a number", "");
    }

    private IllegalArgumentException notInBounds(PluginSetting setting, String what, String unit) {
        return bad(setting, what + " from " + setting.min() + " to " + setting.max() + unit);
    }

    /**
     * Returns a size in bytes: a number with k, m, g, t or p for powers of 1024, and b or not, in either case.
     *
     * @param setting one of the plugin's, which has a default or {@link #isSet is set}
     */
    public long size(PluginSetting setting) {
        Matcher parts = SIZE.matcher(text(setting).strip().toLowerCase(Locale.ROOT));
        if (!parts.matches()) {
            throw bad(setting, "a size like 512m or 4g");
        }
        int shift = parts.group(2).isEmpty() ? 0 : 10 * (1 + "kmgtp".indexOf(parts.group(2)));
        long number = Long.parseLong(parts.group(1));
        if (number > Long.MAX_VALUE >> shift || number << shift < setting.min() || number << shift > setting.max()) {
            throw notInBounds(setting, "a size", " bytes");
        }
        return number << shift;
    }
}
