// SPDX-License-Identifier: Apache-2.0
package org.verbena.memcached.config;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Locale;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

class ClientConfigTest {
    @Test
    void options_and_defaults_are_those_of_the_c_client() throws Exception {
        String table = Files.readString(Path.of("../client/options.def"));
        Pattern row = Pattern.compile("^CLIENT_OPTION\\(\"(\\w+)\", \"[^\"]*\", \"([^\"]*)\"", Pattern.MULTILINE);
        var rows = row.matcher(table).results()
            .map(found -> found.group(1) + "=" + found.group(2)).toList();
        assertEquals(rows, Arrays.stream(ClientConfig.Option.values())
            .map(option -> option.name().toLowerCase(Locale.ROOT) + "=" + option.standard).toList());
    }

    @Test
    void servers_have_ports_weights_and_brackets() {
        ClientConfig config = new ClientConfig(
            "a,b:1/?7,[::1]:2,[::1],fe80::1,/run/mc.sock,/run/mc.sock/?3;timeout=7;carrier=sockets");
        assertEquals("[a:11211, b:1, [::1]:2, [::1]:11211, [fe80::1]:11211, /run/mc.sock, /run/mc.sock]",
            config.servers().toString());
        assertEquals(7, config.servers().get(1).weight());
        assertEquals(3, config.servers().get(6).weight());
        assertTrue(config.servers().get(5).isPath());
        assertEquals(7, config.timeoutMs());
        assertEquals(ClientConfig.Carrier.SOCKETS, config.carrier());
    }

    @Test
    void a_wrong_text_is_refused_with_the_cure() {
        String[][] cases = {
            {"", "server '': give host:port"}, {"a:0", "server 'a:0': give host:port"}, {"a:65536", "server 'a:65536'"},
            {"a,,b", "server ''"}, {"[::1", "server '[::1'"}, {"[::1]x", "server '[::1]x'"}, {":1", "server ':1'"},
            {"a/?0", "weight '0': give a number from 1 to 65535"}, {"a;timeout=0", "timeout '0': give milliseconds"},
            {"a;carrier=fast", "carrier 'fast': give auto, messages or sockets"}, {"a;onesided=1", "onesided '1': give on or off"},
            {"a;timout=1", "option 'timout': there are timeout, connect, key, carrier, onesided"},
            {"a;key", "option 'key': give NAME="},
        };
        for (String[] one : cases) {
            String text = assertThrows(IllegalArgumentException.class, () -> new ClientConfig(one[0]), one[0]).getMessage();
            assertTrue(text.startsWith(one[1]), text);
        }
    }
}
