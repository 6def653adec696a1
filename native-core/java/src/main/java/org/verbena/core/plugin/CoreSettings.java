// SPDX-License-Identifier: Apache-2.0
// Checks the settings that are meant for the native core, by the core itself.
package org.verbena.core.plugin;

import java.util.Comparator;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.verbena.core.VbnConfig;
import org.verbena.core.VbnContext;
import org.verbena.core.VbnEngine;
import org.verbena.core.VbnException;
import org.verbena.core.VbnSetting;
import org.verbena.core.VbnStatus;

/** A wrong setting has to stop the application at its start, and not to slow it down silently. */
public final class CoreSettings {
    /** What may be right on other hosts of the job and wrong on this one. */
    private static final Set<String> OF_A_HOST =
        Set.of("tl.tcp.interface", "tl.tcp.port", "tl.shm.socket_dir", "stats.dir");

    private static final String TRANSPORTS = "tl.enable";

    private CoreSettings() {
    }

    /**
     * Opens the core with the settings and closes it again.
     *
     * @param settings settings of the core and their values
     * @param prefix what the plugin's keys begin with, for the exception's text
     * @param transportName the plugin's name for {@code tl.enable}, without prefix, for the exception's text
     * @param debug takes what is said meanwhile
     * @throws IllegalArgumentException when the core does not know a setting or cannot take its value; any other
     *     trouble of the core on this host says nothing about the settings and is not reported
     */
    public static void check(Map<String, String> settings, String prefix, String transportName, Consumer<String> debug) {
        if (settings.isEmpty()) {
            return;
        }
        Map<String, String> everywhere = new TreeMap<>(settings);
        everywhere.keySet().removeAll(OF_A_HOST);
        everywhere.put("tl.tcp.interface", "127.0.0.1");
        try {
            VbnContext.open(config(settings, debug)).close();
            try (VbnContext context = VbnContext.open(config(everywhere, debug));
                    VbnEngine engine = context.startEngine("verbena-check")) {
                debug.accept("the settings of the core are right: " + engine);
            }
        } catch (VbnException e) {
            if (e.kind() == VbnStatus.SETTING) {
                String text = e.getMessage().substring(e.statusName().length() + 2);
                throw new IllegalArgumentException(culprit(settings, text, prefix, transportName) + " is wrong: " + text, e);
            }
            debug.accept("the core does not start here, its settings are not checked: " + e.getMessage());
        }
    }

    /** The setting that the core's text is about, as the user has written it. */
    private static String culprit(Map<String, String> settings, String text, String prefix, String transportName) {
        if (text.contains(TRANSPORTS)) {
            return prefix + transportName;
        }
        return settings.keySet().stream().filter(text::contains).max(Comparator.comparingInt(String::length))
            .map(key -> prefix + "core." + key + "=" + settings.get(key)).orElse(prefix + "core.*");
    }

    /**
     * A text of the core's with its settings named as the plugin's users write them.
     *
     * @param prefix what the plugin's keys begin with
     * @param transportName the plugin's name for {@code tl.enable}, without prefix
     */
    public static String inUsersWords(String text, String prefix, String transportName) {
        String result = text;
        for (VbnSetting setting : VbnSetting.values()) {
            String name = setting == VbnSetting.TL_ENABLE ? transportName : "core." + setting.key();
            result = result.replaceAll("(?<![A-Za-z0-9_.])" + Pattern.quote(setting.key()) + "(?![A-Za-z0-9_])",
                Matcher.quoteReplacement(prefix + name));
        }
        return result;
    }

    private static VbnConfig config(Map<String, String> settings, Consumer<String> debug) {
        VbnConfig config = new VbnConfig().jobKey(new byte[VbnConfig.JOB_KEY_BYTES]).log(line -> debug.accept(line.text()));
        settings.forEach(config::set);
        return config;
    }
}
