// SPDX-License-Identifier: Apache-2.0
// What the fetchers of one reducer share.
package org.verbena.hadoop.shuffle;

import java.net.URL;
import java.util.concurrent.TimeUnit;
import javax.crypto.SecretKey;
import org.verbena.core.plugin.Remotes;

/** Thread safe. */
final class FetchShare<K, V> {
    private final String job;
    private final SecretKey secret;
    private final CoreClient client;
    private final MemoryMerge<K, V> merge;
    private final ShuffleCounters counters;
    private final SharedFiles files;
    private final SourceChoice choice;
    private final long waitMillis;
    private final long limitNanos;
    private final Remotes<String, Link> links = new Remotes<>(Remotes.MOST, Link::remote);

    /**
     * Makes what is shared.
     *
     * @param files the map outputs that can be read from the shared file system
     * @param limitMillis longest wait for the next bytes of a request
     */
    FetchShare(String job, SecretKey secret, CoreClient client, MemoryMerge<K, V> merge, ShuffleCounters counters,
            ShuffleConf conf, SharedFiles files, long limitMillis) {
        this.job = job;
        this.secret = secret;
        this.client = client;
        this.merge = merge;
        this.counters = counters;
        this.files = files;
        this.choice = conf.choice();
        this.waitMillis = conf.connectWaitMillis();
        this.limitNanos = TimeUnit.MILLISECONDS.toNanos(limitMillis);
    }

    /** The way to a node; null when more are connected than are remembered. */
    Link link(String host, URL base) {
        return links.of(host, name -> new Link(name, base, job, client, secret, waitMillis));
    }

    SecretKey secret() {
        return secret;
    }

    CoreClient client() {
        return client;
    }

    MemoryMerge<K, V> merge() {
        return merge;
    }

    ShuffleCounters counters() {
        return counters;
    }

    SharedFiles files() {
        return files;
    }

    SourceChoice choice() {
        return choice;
    }

    /** How long a request waits for the next bytes. */
    long limitNanos() {
        return limitNanos;
    }
}
