// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.ipc;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.net.NetUtils;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.tools.protocolPB.GetUserMappingsProtocolClientSideTranslatorPB;
import org.apache.hadoop.tools.protocolPB.GetUserMappingsProtocolPB;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Clients with security on, of a server with simple authentication alone, which they reach by the core. */
class FallbackTest {
    @AfterEach
    void simpleAgain() {
        UserGroupInformation.setConfiguration(new Configuration());
    }

    private static GetUserMappingsProtocolClientSideTranslatorPB client(Groups groups, UserGroupInformation user,
            AtomicBoolean fellBack) throws IOException {
        return new GetUserMappingsProtocolClientSideTranslatorPB(RPC.getProtocolProxy(GetUserMappingsProtocolPB.class, 1,
            new InetSocketAddress("127.0.0.1", groups.server.getPort()), user, groups.conf,
            NetUtils.getDefaultSocketFactory(groups.conf), 0, null, fellBack, null).getProxy());
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void each_client_of_a_server_without_tokens_falls_back_where_that_is_allowed_and_fails_where_it_is_not(boolean allowed)
            throws Exception {
        try (Groups groups = new Groups(true, "ipc.client.fallback-to-simple-auth-allowed", String.valueOf(allowed))) {
            try (GetUserMappingsProtocolClientSideTranslatorPB simple = groups.client()) {
                Groups.connect(groups.conf, simple);
            }
            Configuration secure = new Configuration();
            secure.set("hadoop.security.authentication", "token");
            UserGroupInformation.setConfiguration(secure);
            UserGroupInformation user = UserGroupInformation.createRemoteUser("alice");
            AtomicBoolean[] fellBack = {new AtomicBoolean(), new AtomicBoolean()};
            try (GetUserMappingsProtocolClientSideTranslatorPB one = client(groups, user, fellBack[0]);
                    GetUserMappingsProtocolClientSideTranslatorPB other = client(groups, user, fellBack[1])) {
                for (GetUserMappingsProtocolClientSideTranslatorPB client : java.util.List.of(one, other, one)) {
                    if (allowed) {
                        assertArrayEquals(new String[] {"a"}, client.getGroupsForUser("echo a"));
                    } else {
                        IOException refused = assertThrows(IOException.class, () -> client.getGroupsForUser("echo a"));
                        assertTrue(refused.getMessage().contains("only allow secure connections"), refused.getMessage());
                    }
                }
            }
            assertEquals(allowed, fellBack[0].get());
            assertEquals(allowed, fellBack[1].get());
        }
    }
}
