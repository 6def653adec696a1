// SPDX-License-Identifier: Apache-2.0
/**
 * A Netty transport on the native core: {@link VbnEventLoopGroup} in the place of NioEventLoopGroup, {@link VbnChannel} and
 * {@link VbnServerChannel} in that of NioSocketChannel and NioServerSocketChannel.
 */
package org.verbena.netty;
