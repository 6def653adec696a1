// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hbase.ipc;

import org.apache.hadoop.hbase.ServerName;
import org.apache.hadoop.hbase.security.User;
import org.apache.hbase.thirdparty.com.google.protobuf.Descriptors.MethodDescriptor;
import org.apache.hbase.thirdparty.com.google.protobuf.Message;
import org.apache.hbase.thirdparty.com.google.protobuf.RpcChannel;
import org.apache.hbase.thirdparty.com.google.protobuf.RpcController;
import org.apache.hbase.thirdparty.com.google.protobuf.ServiceException;

/** Blocking calls whose threads drive the event loop while they wait; HBase's own way otherwise. Thread safe. */
final class CallerChannel extends AbstractRpcClient.BlockingRpcChannelImplementation {
    private final VbnRpcClient client;
    private final RpcChannel calls;

    CallerChannel(VbnRpcClient client, ServerName server, User user, int timeout) {
        super(client, AbstractRpcClient.createAddr(server), user, timeout);
        this.client = client;
        calls = client.createRpcChannel(server, user, timeout);
    }

    @Override
    public Message callBlockingMethod(MethodDescriptor method, RpcController controller, Message request, Message response)
            throws ServiceException {
        if (!client.callersDrive()) {
            return super.callBlockingMethod(method, controller, request, response);
        }
        HBaseRpcController used = configureRpcController(controller);
        Caller caller = new Caller();
        caller.issues();
        try {
            calls.callMethod(method, used, request, response, caller);
        } finally {
            caller.issued();
        }
        Message answer = caller.await();
        if (used.failed()) {
            throw new ServiceException(used.getFailed());
        }
        return answer;
    }
}
