// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.ipc;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.lang.annotation.Annotation;
import java.util.Collection;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.security.KerberosInfo;
import org.apache.hadoop.security.SecurityInfo;
import org.apache.hadoop.security.SecurityUtil;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.security.token.SecretManager;
import org.apache.hadoop.security.token.Token;
import org.apache.hadoop.security.token.TokenIdentifier;
import org.apache.hadoop.security.token.TokenInfo;
import org.apache.hadoop.security.token.TokenSelector;
import org.apache.hadoop.tools.protocolPB.GetUserMappingsProtocolClientSideTranslatorPB;
import org.apache.hadoop.tools.protocolPB.GetUserMappingsProtocolPB;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tokens (DIGEST) inside streams, in each quality of protection. */
class TokensTest {
    private static final Text KIND = new Text("verbena test");

    /** Names a user. */
    public static final class Identifier extends TokenIdentifier {
        private String user = "";

        @Override
        public void write(DataOutput out) throws IOException {
            out.writeUTF(user);
        }

        @Override
        public void readFields(DataInput in) throws IOException {
            user = in.readUTF();
        }

        @Override
        public Text getKind() {
            return KIND;
        }

        @Override
        public UserGroupInformation getUser() {
            return UserGroupInformation.createRemoteUser(user);
        }
    }

    private static final class Secrets extends SecretManager<Identifier> {
        @Override
        protected byte[] createPassword(Identifier identifier) {
            return ("password of " + identifier.user).getBytes();
        }

        @Override
        public byte[] retrievePassword(Identifier identifier) {
            return createPassword(identifier);
        }

        @Override
        public Identifier createIdentifier() {
            return new Identifier();
        }
    }

    /** Takes the one token of its kind. */
    public static final class Selector implements TokenSelector<Identifier> {
        @Override
        @SuppressWarnings("unchecked")
        public Token<Identifier> selectToken(Text service, Collection<Token<? extends TokenIdentifier>> tokens) {
            return (Token<Identifier>) tokens.stream().filter(token -> token.getKind().equals(KIND)).findFirst().orElse(null);
        }
    }

    /** Whose annotation says that the protocol takes these tokens. */
    @TokenInfo(Selector.class)
    private interface Marked {
    }

    private static final class Info extends SecurityInfo {
        @Override
        public KerberosInfo getKerberosInfo(Class<?> protocol, Configuration conf) {
            return null;
        }

        @Override
        public TokenInfo getTokenInfo(Class<?> protocol, Configuration conf) {
            Annotation info = protocol == GetUserMappingsProtocolPB.class ? Marked.class.getAnnotation(TokenInfo.class) : null;
            return (TokenInfo) info;
        }
    }

    @BeforeEach
    void mark() {
        SecurityUtil.setSecurityInfoProviders(new Info());
    }

    @AfterEach
    void unmark() {
        SecurityUtil.setSecurityInfoProviders();
    }

    private static UserGroupInformation user(Secrets secrets, String name, boolean wrong) throws IOException {
        Identifier identifier = new Identifier();
        identifier.user = name;
        Token<Identifier> token = wrong
            ? new Token<>(identifier.getBytes(), "another password".getBytes(), KIND, new Text())
            : new Token<>(identifier, secrets);
        UserGroupInformation user = UserGroupInformation.createRemoteUser("local name");
        user.addToken(token);
        return user;
    }

    @ParameterizedTest
    @ValueSource(strings = {"authentication", "integrity", "privacy"})
    void a_token_names_the_user_and_calls_are_protected_inside_the_stream(String protection) throws Exception {
        Secrets secrets = new Secrets();
        try (Groups groups = new Groups(true, secrets, "hadoop.rpc.protection", protection);
                GetUserMappingsProtocolClientSideTranslatorPB client =
                    Groups.client(groups.conf, groups.server.getPort(), user(secrets, "alice", false))) {
            Groups.connect(groups.conf, client);
            long before = Groups.byCore(groups.conf);
            assertEquals("alice (auth:TOKEN)", client.getGroupsForUser("who ")[1]);
            String[] large = client.getGroupsForUser("size 200000");
            assertEquals(200_000, large[0].length());
            assertEquals(2, Groups.byCore(groups.conf) - before);
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void a_wrong_token_is_refused_as_by_tcp(boolean connected) throws Exception {
        Secrets secrets = new Secrets();
        try (Groups groups = new Groups(true, secrets);
                GetUserMappingsProtocolClientSideTranslatorPB good =
                    Groups.client(groups.conf, groups.server.getPort(), user(secrets, "alice", false));
                GetUserMappingsProtocolClientSideTranslatorPB bad =
                    Groups.client(groups.conf, groups.server.getPort(), user(secrets, "bob", true))) {
            if (connected) {
                Groups.connect(groups.conf, good);
            }
            int before = groups.runs.get();
            try {
                bad.getGroupsForUser("echo a");
                throw new AssertionError("a wrong token was taken");
            } catch (IOException e) {
                assertTrue(e.toString().contains("SaslException") || e.toString().contains("DIGEST-MD5"), e.toString());
            }
            assertEquals(before, groups.runs.get());
            assertArrayEquals(new String[] {"b"}, good.getGroupsForUser("echo b"));
        }
    }
}
