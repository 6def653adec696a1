// SPDX-License-Identifier: Apache-2.0
package org.verbena.netty;

import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.ChannelOption;
import io.netty.channel.DefaultChannelConfig;
import io.netty.channel.MessageSizeEstimator;
import io.netty.channel.RecvByteBufAllocator;
import io.netty.channel.WriteBufferWaterMark;
import io.netty.channel.socket.DuplexChannelConfig;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Options of a channel: those of all channels, half closure and SO_LINGER; options of TCP that have no meaning here are kept
 * and change nothing, so that programs written for TCP need no change. Thread safe.
 */
public final class VbnChannelConfig extends DefaultChannelConfig implements DuplexChannelConfig {
    private final Map<ChannelOption<?>, Object> withoutMeaning = new ConcurrentHashMap<>();
    private volatile boolean allowHalfClosure;
    private volatile int linger = -1;

    VbnChannelConfig(VbnChannel channel) {
        super(channel);
        withoutMeaning.put(ChannelOption.TCP_NODELAY, true);
        withoutMeaning.put(ChannelOption.SO_KEEPALIVE, false);
        withoutMeaning.put(ChannelOption.SO_REUSEADDR, false);
        withoutMeaning.put(ChannelOption.SO_SNDBUF, 1 << 20);
        withoutMeaning.put(ChannelOption.SO_RCVBUF, 1 << 20);
        withoutMeaning.put(ChannelOption.IP_TOS, 0);
    }

    @Override
    public Map<ChannelOption<?>, Object> getOptions() {
        Map<ChannelOption<?>, Object> all =
            getOptions(super.getOptions(), ChannelOption.ALLOW_HALF_CLOSURE, ChannelOption.SO_LINGER);
        all.putAll(withoutMeaning);
        return all;
    }

    @Override
    @SuppressWarnings("unchecked") // the caller's type is that of the option
    public <T> T getOption(ChannelOption<T> option) {
        if (option == ChannelOption.ALLOW_HALF_CLOSURE) {
            return (T) Boolean.valueOf(allowHalfClosure);
        }
        if (option == ChannelOption.SO_LINGER) {
            return (T) Integer.valueOf(linger);
        }
        Object kept = withoutMeaning.get(option);
        return kept == null ? super.getOption(option) : (T) kept;
    }

    @Override
    public <T> boolean setOption(ChannelOption<T> option, T value) {
        validate(option, value);
        if (option == ChannelOption.ALLOW_HALF_CLOSURE) {
            allowHalfClosure = (Boolean) value;
        } else if (option == ChannelOption.SO_LINGER) {
            linger = (Integer) value;
        } else if (withoutMeaning.containsKey(option)) {
            withoutMeaning.put(option, value);
        } else {
            return super.setOption(option, value);
        }
        return true;
    }

    /** True when a close throws away what the other side has not read, as that of a socket with SO_LINGER 0. */
    boolean resetsOnClose() {
        return linger == 0;
    }

    @Override
    public boolean isAllowHalfClosure() {
        return allowHalfClosure;
    }

    @Override
    public VbnChannelConfig setAllowHalfClosure(boolean allow) {
        allowHalfClosure = allow;
        return this;
    }

    @Override
    protected void autoReadCleared() {
        ((VbnChannel) channel).stopReading();
    }

    @Override
    public VbnChannelConfig setConnectTimeoutMillis(int millis) {
        super.setConnectTimeoutMillis(millis);
        return this;
    }

    @Override
    @Deprecated
    public VbnChannelConfig setMaxMessagesPerRead(int most) {
        super.setMaxMessagesPerRead(most);
        return this;
    }

    @Override
    public VbnChannelConfig setWriteSpinCount(int count) {
        super.setWriteSpinCount(count);
        return this;
    }

    @Override
    public VbnChannelConfig setAllocator(ByteBufAllocator allocator) {
        super.setAllocator(allocator);
        return this;
    }

    @Override
    public VbnChannelConfig setRecvByteBufAllocator(RecvByteBufAllocator allocator) {
        super.setRecvByteBufAllocator(allocator);
        return this;
    }

    @Override
    public VbnChannelConfig setAutoRead(boolean autoRead) {
        super.setAutoRead(autoRead);
        return this;
    }

    @Override
    public VbnChannelConfig setAutoClose(boolean autoClose) {
        super.setAutoClose(autoClose);
        return this;
    }

    @Override
    public VbnChannelConfig setMessageSizeEstimator(MessageSizeEstimator estimator) {
        super.setMessageSizeEstimator(estimator);
        return this;
    }

    @Override
    public VbnChannelConfig setWriteBufferWaterMark(WriteBufferWaterMark marks) {
        super.setWriteBufferWaterMark(marks);
        return this;
    }
}
