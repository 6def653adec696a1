// SPDX-License-Identifier: Apache-2.0
// The NodeManager's shuffle service: the stock one, which also serves map outputs by the native core.
package org.verbena.hadoop.shuffle;

import io.netty.channel.Channel;
import io.netty.channel.ServerChannel;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.mapred.JobID;
import org.apache.hadoop.mapred.MapOutputBridge;
import org.apache.hadoop.mapred.ShuffleChannelHandlerContext;
import org.apache.hadoop.mapred.ShuffleHandler;
import org.apache.hadoop.mapreduce.MRConfig;
import org.apache.hadoop.yarn.server.api.ApplicationTerminationContext;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.verbena.core.NativeLibrary;
import org.verbena.core.VbnException;
import org.verbena.core.plugin.PluginSetting;

/**
 * Named by {@code yarn.nodemanager.aux-services.mapreduce_shuffle.class}. It replaces the stock service and does not stand
 * beside it, because application masters hand the job's token and publish the port of {@code mapreduce_shuffle} only.
 * Whatever is in the way of the core, HTTP is served as ever.
 */
public final class VerbenaShuffleHandler extends ShuffleHandler {
    private static final Logger LOG = LoggerFactory.getLogger(VerbenaShuffleHandler.class);

    private ShuffleChannelHandlerContext context;
    private JobServers servers;

    /** Made by the NodeManager. */
    public VerbenaShuffleHandler() {
        super();
    }

    @Override
    protected ShuffleChannelHandlerContext createHandlerContext() {
        context = super.createHandlerContext();
        return context;
    }

    @Override
    protected void serviceStart() throws Exception {
        String obstacle = obstacle(getConfig()); // loads the library: reducers ask as soon as the port is open, after a restart
        super.serviceStart();
        if (obstacle != null) {
            LOG.warn("Verbena 0.1.0: map outputs are served by HTTP only: {}", obstacle);
            return;
        }
        servers = new JobServers(new ShuffleConf(getConfig()), new MapOutputBridge(context), secretManager, userRsrc,
            NodeSite.of(getConfig()));
        for (Channel channel : allChannels) {
            if (channel instanceof ServerChannel) {
                AddressHandler.Installer.install(channel, servers);
            }
        }
        LOG.info("Verbena 0.1.0: map outputs are served by the native core to reducers that ask for it, else by HTTP on port {}",
            context.port);
    }

    /** Why the core cannot serve here; null when nothing is in the way. */
    private static String obstacle(Configuration conf) {
        try {
            ShuffleConf settings = new ShuffleConf(conf);
            if (conf.getBoolean(MRConfig.SHUFFLE_SSL_ENABLED_KEY, MRConfig.SHUFFLE_SSL_ENABLED_DEFAULT)) {
                return MRConfig.SHUFFLE_SSL_ENABLED_KEY + " is true";
            }
            NativeLibrary.load();
            return settings.core() ? null : PluginSetting.SHUFFLE_SOURCE + " is http";
        } catch (IllegalArgumentException | VbnException | LinkageError e) {
            return e.getMessage();
        }
    }

    /** The jobs that are served by the core; null when none can be. */
    JobServers servers() {
        return servers;
    }

    @Override
    public void stopApplication(ApplicationTerminationContext application) {
        if (servers != null) {
            servers.end(new JobID(Long.toString(application.getApplicationId().getClusterTimestamp()),
                application.getApplicationId().getId()).toString());
        }
        super.stopApplication(application);
    }

    @Override
    protected void serviceStop() throws Exception {
        if (servers != null) {
            servers.close();
        }
        super.serviceStop();
    }
}
