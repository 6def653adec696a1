// SPDX-License-Identifier: Apache-2.0
package org.verbena.netty;

import io.netty.channel.ChannelOption;
import io.netty.channel.DefaultChannelConfig;
import io.netty.util.NetUtil;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** Options of a server channel: SO_BACKLOG; those of TCP that have no meaning here are kept and change nothing. Thread safe. */
final class VbnServerChannelConfig extends DefaultChannelConfig {
    private final Map<ChannelOption<?>, Object> withoutMeaning = new ConcurrentHashMap<>();
    private volatile int backlog = NetUtil.SOMAXCONN;

    VbnServerChannelConfig(VbnServerChannel channel) {
        super(channel);
        withoutMeaning.put(ChannelOption.SO_REUSEADDR, true);
        withoutMeaning.put(ChannelOption.SO_RCVBUF, 1 << 20);
    }

    /** Most streams that wait to be accepted. */
    int backlog() {
        return backlog;
    }

    @Override
    public Map<ChannelOption<?>, Object> getOptions() {
        Map<ChannelOption<?>, Object> all = getOptions(super.getOptions(), ChannelOption.SO_BACKLOG);
        all.putAll(withoutMeaning);
        return all;
    }

    @Override
    @SuppressWarnings("unchecked") // the caller's type is that of the option
    public <T> T getOption(ChannelOption<T> option) {
        if (option == ChannelOption.SO_BACKLOG) {
            return (T) Integer.valueOf(backlog);
        }
        Object kept = withoutMeaning.get(option);
        return kept == null ? super.getOption(option) : (T) kept;
    }

    @Override
    public <T> boolean setOption(ChannelOption<T> option, T value) {
        validate(option, value);
        if (option == ChannelOption.SO_BACKLOG) {
            if ((Integer) value < 1) {
                throw new IllegalArgumentException("SO_BACKLOG " + value + ": give 1 or more");
            }
            backlog = (Integer) value;
        } else if (withoutMeaning.containsKey(option)) {
            withoutMeaning.put(option, value);
        } else {
            return super.setOption(option, value);
        }
        return true;
    }
}
