/* SPDX-License-Identifier: Apache-2.0
 * carrier.h - waits for a link: the kernel says some time after both ends are up that it has a carrier. */
#ifndef VBN_TESTS_CARRIER_H
#define VBN_TESTS_CARRIER_H

#include <net/if.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* False: not within a minute. */
static inline int has_carrier(const char *name)
{
    struct ifreq request = {};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), has = 0;
    snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", name);
    for (int i = 0; i < 60000 && !has; i++) {
        has = ioctl(fd, SIOCGIFFLAGS, &request) == 0 && (request.ifr_flags & IFF_RUNNING) != 0;
        if (!has)
            usleep(1000);
    }
    close(fd);
    return has;
}

#endif
