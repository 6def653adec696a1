// SPDX-License-Identifier: Apache-2.0
package org.verbena.memcached;

import java.net.ProtocolException;
import java.util.HashMap;
import java.util.Map;
import org.verbena.core.Message;
import org.verbena.core.VbnEngine;
import org.verbena.memcached.wire.MessageAnswer;
import org.verbena.memcached.wire.MessageRequest;

/**
 * An engine of the core, and the calls that are on their way through it. A number names a call, and is not used again while it
 * could be taken for another one. The engine's thread.
 */
final class Net {
    private final VbnEngine engine;
    private final Counters counters;
    private final Map<Integer, Call> flying = new HashMap<>();
    private int numbers;

    Net(VbnEngine engine, Counters counters) {
        this.engine = engine;
        this.counters = counters;
        engine.onMessage(MessageRequest.ANSWER, this::take);
    }

    VbnEngine engine() {
        return engine;
    }

    /** Gives the call a number. */
    void add(Call call) {
        do {
            numbers++;
        } while (flying.containsKey(numbers));
        call.number = numbers;
        flying.put(numbers, call);
    }

    /** False: it has been removed before. */
    boolean remove(Call call) {
        return flying.remove(call.number, call);
    }

    private void take(Message message) {
        try {
            MessageAnswer head = MessageAnswer.parse(message.header());
            Call call = flying.get(head.id());
            if (call != null && call.carrier.isOf(message.peer())) {
                counters.messages.increment();
                call.carrier.take(call, head.answer(), message);
                return;
            }
        } catch (ProtocolException e) {
            counters.malformed.increment();
        }
        if (message.remote() != null) {
            engine.drop(message.remote());
        }
    }
}
