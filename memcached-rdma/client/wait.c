/* SPDX-License-Identifier: Apache-2.0
 * wait.c - the loop that every waiting call runs: the core's workers, then sockets, then sleep on all of them. */
#include <poll.h>
#include <stdlib.h>
#include <time.h>

#include "base/os.h"
#include "client/mc.h"

#define FDS_ON_STACK 16u
#define SETTING_UP_NS (20 * NS_PER_MS) /* time limits of connecting are looked at so often */

static unsigned progress_nets(vmc_t *mc)
{
    unsigned events = 0;
    for (list_link_t *link = mc->nets.next; link != &mc->nets;) {
        net_t *net = container_of(link, net_t, link);
        link = link->next;
        events += vbn_progress(net->worker);
    }
    return events;
}

/* Sleeps on sockets and workers; handles the sockets that are ready. Returns how many. */
static unsigned poll_all(vmc_t *mc, bool workers, uint64_t sleep_ns)
{
    struct pollfd stack[FDS_ON_STACK], *fds = stack;
    mc_server_t *servers_stack[FDS_ON_STACK], **servers = servers_stack;
    unsigned count = 0, ready = 0, most = mc->server_count;
    list_for_each(link, &mc->nets)
        most++;
    if (most > FDS_ON_STACK) {
        fds = malloc(most * (sizeof(*fds) + sizeof(*servers)));
        if (fds == NULL)
            return 0;
        servers = (mc_server_t **)(void *)(fds + most);
    }
    for (unsigned i = 0; i < mc->server_count; i++) {
        mc_server_t *server = &mc->servers[i];
        if (server->fd < 0)
            continue;
        servers[count] = server;
        fds[count++] = (struct pollfd){.fd = server->fd, .events = server_events(server)};
    }
    unsigned sockets = count;
    if (workers)
        list_for_each(link, &mc->nets)
            fds[count++] = (struct pollfd){.fd = vbn_event_fd(container_of(link, net_t, link)->worker),
                                           .events = POLLIN};
    struct timespec time = {.tv_sec = (time_t)(sleep_ns / 1000000000), .tv_nsec = (long)(sleep_ns % 1000000000)};
    if (ppoll(fds, count, &time, NULL) > 0)
        for (unsigned i = 0; i < sockets; i++)
            if (fds[i].revents != 0 && servers[i]->fd == fds[i].fd) {
                server_ready(servers[i], fds[i].revents);
                ready++;
            }
    if (fds != stack)
        free(fds);
    return ready;
}

static void check_servers(vmc_t *mc, uint64_t now)
{
    for (unsigned i = 0; i < mc->server_count && mc->sockets > 0; i++)
        server_check(&mc->servers[i], now);
}

unsigned wait_progress(vmc_t *mc, bool sockets)
{
    unsigned events = progress_nets(mc);
    if (!sockets || mc->sockets == 0)
        return events;
    events += poll_all(mc, false, 0);
    check_servers(mc, os_now_ns());
    return events;
}

/* All workers may sleep. */
static bool arm(vmc_t *mc)
{
    list_for_each(link, &mc->nets)
        if (vbn_arm(container_of(link, net_t, link)->worker) != VBN_OK)
            return false;
    return true;
}

size_t wait_complete(vmc_req_t *const *reqs, size_t count)
{
    size_t i = 0;
    while (i < count && (reqs[i] == NULL || reqs[i]->status == VMC_INPROGRESS))
        i++;
    return i;
}

void wait_for(vmc_t *mc, vmc_req_t *const *reqs, size_t count, uint64_t end_ns)
{
    while (wait_complete(reqs, count) == count) {
        if (progress_nets(mc) > 0)
            continue;
        uint64_t now = os_now_ns();
        if (now >= end_ns)
            return;
        check_servers(mc, now);
        if (wait_complete(reqs, count) < count || !arm(mc))
            continue;
        uint64_t sleep = end_ns - now;
        if (mc->sockets > 0 && sleep > SETTING_UP_NS)
            sleep = SETTING_UP_NS;
        (void)poll_all(mc, true, sleep);
    }
}
