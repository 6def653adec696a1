// SPDX-License-Identifier: Apache-2.0
// The file system lustre: for FileContext, which YARN uses.
package org.verbena.hadoop.lustre;

import java.io.IOException;
import java.net.URI;
import java.net.URISyntaxException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.DelegateToFileSystem;

/** Named by {@code fs.AbstractFileSystem.lustre.impl}. */
public final class LustreFs extends DelegateToFileSystem {
    /**
     * Made by Hadoop.
     *
     * @param name such as lustre:///
     * @param conf with the settings of the file system
     * @throws IOException when a setting is wrong or the root is not there
     */
    public LustreFs(URI name, Configuration conf) throws IOException, URISyntaxException {
        super(name, new LustreFileSystem(), conf, LustreFileSystem.SCHEME, false);
    }
}
