// SPDX-License-Identifier: Apache-2.0
// Trees of /proc and /sys as hosts with and without RDMA devices have them.
package org.verbena.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class NetworkSpeedTest {
    @TempDir
    Path root;

    private void write(String path, String text) throws IOException {
        Path file = root.resolve(path);
        Files.createDirectories(file.getParent());
        Files.writeString(file, text + "\n");
    }

    private void route(String speed) throws IOException {
        write("proc/net/route", "Iface\tDestination\tGateway\nnet1\t0000000A\t00000000\nnet0\t00000000\t0100000A");
        write("sys/class/net/net0/speed", speed);
    }

    private void port(String device, int port, String state, String rate) throws IOException {
        String folder = "sys/class/infiniband/" + device + "/ports/" + port + "/";
        write(folder + "state", state);
        write(folder + "rate", rate);
    }

    private NetworkSpeed speed(String devices) {
        return NetworkSpeed.here(root, "127.0.0.1", devices);
    }

    @Test
    void theDefaultRouteCountsWhereTheAddressTellsNothing() throws IOException {
        route("25000");
        assertEquals(new NetworkSpeed(25_000, "network interface net0"), speed(""));
    }

    @Test
    void anRdmaDeviceBesideASlowRouteCounts() throws IOException {
        route("1000");
        port("mlx5_0", 1, "4: ACTIVE", "200 Gb/sec (4X HDR)");
        port("mlx5_1", 1, "1: DOWN", "400 Gb/sec (4X NDR)");
        port("old", 2, "4: ACTIVE", "2.5 Gb/sec (1X SDR)");
        assertEquals(new NetworkSpeed(200_000, "RDMA device mlx5_0:1"), speed(""));
        assertEquals(200_000, speed("all").mbit());
        assertEquals(1000, speed(null).mbit(), "RDMA is not to be used");
    }

    @Test
    void onlyNamedDevicesCount() throws IOException {
        route("1000");
        port("mlx5_0", 1, "4: ACTIVE", "200 Gb/sec (4X HDR)");
        port("mlx5_1", 2, "4: ACTIVE", "100 Gb/sec (4X EDR)");
        assertEquals(100_000, speed("mlx5_1").mbit());
        assertEquals(100_000, speed("other, mlx5_1:2:3").mbit());
        assertEquals(1000, speed("mlx5_1:1").mbit());
        assertEquals(1000, speed("mlx5").mbit());
    }

    @Test
    void whatTheKernelDoesNotTellIsUnknown() throws IOException {
        assertEquals(0, speed("").mbit());
        route("-1");
        assertEquals(0, speed("").mbit());
        port("rxe0", 1, "4: ACTIVE", "fast");
        assertEquals(0, speed("").mbit());
    }
}
