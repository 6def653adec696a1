// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.shuffle;

import java.net.InetSocketAddress;
import java.util.Arrays;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;

/**
 * What a NodeManager's own settings say of it.
 *
 * @param resourceManager where it reports; YARN tells others the address from which it does
 * @param folders its local folders
 * @param shared those of them that all hosts see
 */
record NodeSite(InetSocketAddress resourceManager, List<String> folders, SharedFolders shared) {
    private static final String RESOURCES = "yarn.resourcemanager.resource-tracker.address";
    private static final String RESOURCES_DEFAULT = "0.0.0.0:8031";
    private static final int RESOURCES_PORT = 8031;
    static final String FOLDERS = "yarn.nodemanager.local-dirs";

    static NodeSite of(Configuration conf) {
        List<String> folders = Arrays.stream(conf.getTrimmedStrings(FOLDERS)).map(folder -> new Path(folder).toUri().getPath())
            .toList();
        return new NodeSite(conf.getSocketAddr(RESOURCES, RESOURCES_DEFAULT, RESOURCES_PORT), folders,
            new SharedFolders(conf, folders));
    }
}
