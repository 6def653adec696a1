// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.rpc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InputStream;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.ipc.ServerQuestion;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.verbena.core.plugin.Finding;
import org.verbena.core.plugin.Finding.Level;
import org.verbena.core.plugin.HostReport;

class ServersCheckTest {
    /** As that of Hadoop's RunJar: the jar's classes are in other packages than Hadoop's of the same name. */
    private static final class JarLoader extends ClassLoader {
        private static final Set<String> OWN = Set.of(ServersCheck.class.getName(), ServerQuestion.class.getName());

        JarLoader() {
            super(ServersCheckTest.class.getClassLoader());
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            synchronized (getClassLoadingLock(name)) {
                Class<?> loaded = findLoadedClass(name);
                return loaded != null ? loaded : OWN.contains(name) ? own(name) : super.loadClass(name, resolve);
            }
        }

        private Class<?> own(String name) throws ClassNotFoundException {
            try (InputStream in = getResourceAsStream(name.replace('.', '/') + ".class")) {
                byte[] code = in.readAllBytes();
                return defineClass(name, code, 0, code.length);
            } catch (IOException e) {
                throw new ClassNotFoundException(name, e);
            }
        }
    }

    @Test
    void aJarWithAClassLoaderOfItsOwnIsOneLineWithTheCure() throws ReflectiveOperationException {
        Class<?> check = new JarLoader().loadClass(ServersCheck.class.getName());
        assertNotSame(ServersCheck.class, check);
        Configuration conf = new Configuration(false);
        conf.set("yarn.resourcemanager.address", "127.0.0.1:1"); // not called
        HostReport report = new HostReport();
        check.getMethod("yarn", Configuration.class, HostReport.class).invoke(null, conf, report);
        assertEquals(1, report.findings().size(), report.findings()::toString);
        Finding finding = report.findings().get(0);
        assertEquals(Level.WARN, finding.level());
        assertTrue(finding.toString().contains("ResourceManager at 127.0.0.1:1 is not asked: put the jar into HADOOP_CLASSPATH, "
            + "and use Hadoop 3.4 or later: java.lang.IllegalAccessError: "), finding::toString);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "org.ietf.jgss.GSSException: No valid credentials provided (Mechanism level: Failed to find any Kerberos tgt) | true",
        "sun.security.krb5.KrbException: Server not found in Kerberos database (7) | true",
        "org.apache.hadoop.security.AccessControlException: Client cannot authenticate via:[TOKEN, KERBEROS] | true",
        "javax.security.auth.login.LoginException: Unable to obtain password from user | true",
        "java.net.ConnectException: Connection refused | false",
        "this host does not know the name rm | false"})
    void aFailureOfThisHostsOwnCredentialsIsNotLookedForInTheServersLog(String cause, boolean own) {
        String cure = ServersCheck.cure(cause, "its.address");
        assertEquals(own ? "look at this user's ticket (klist, kinit) and at krb5.conf"
            : "look at its log, and whether its.address names it on this host", cure);
    }
}
