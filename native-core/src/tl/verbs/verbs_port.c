/* SPDX-License-Identifier: Apache-2.0
 * verbs_port.c - the choice of device, port and GID; opening and closing. */
#include "tl/verbs/verbs_port.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/os_own.h"

#define GIDS_MAX 256u

/* A candidate, or what tl.verbs.device asks for: 0 and -1 are "any". */
typedef struct choice {
    char device[64];
    int port;
    int gid_index;
} choice_t;

/* ---------------------------------------------------------------------------------------------- asking */

static vbn_status_t parse(const char *text, choice_t *wanted)
{
    char *end;
    *wanted = (choice_t){.gid_index = -1};
    size_t length = strcspn(text, ":");
    if (length >= sizeof(wanted->device))
        return err_set(VBN_ERR_SETTING, "tl.verbs.device=%s: the name is too long", text);
    memcpy(wanted->device, text, length);
    if (text[length] == '\0')
        return VBN_OK;
    wanted->port = (int)strtol(text + length + 1, &end, 10);
    if (*end == ':')
        wanted->gid_index = (int)strtol(end + 1, &end, 10);
    if (*end != '\0' || wanted->port < 1 || wanted->port > 254 || wanted->gid_index > 255)
        return err_set(VBN_ERR_SETTING, "tl.verbs.device=%s: write DEVICE, DEVICE:PORT or DEVICE:PORT:GIDINDEX", text);
    return VBN_OK;
}

int verbs_port_query(const verbs_port_t *port, struct ibv_port_attr *attr)
{
    const struct verbs_context *more = verbs_get_ctx(port->context);
    memset(attr, 0, sizeof(*attr));
    if (more != NULL && more->sz >= sizeof(*more) - offsetof(struct verbs_context, query_port) &&
        more->query_port != NULL)
        return more->query_port(port->context, port->number, attr, sizeof(*attr));
    return port->api->query_port(port->context, port->number, (struct _compat_ibv_port_attr *)(void *)attr);
}

/* The port's best GID: RoCE v2 with an IPv4 address, then a global one, then link-local. false: none that works. */
static bool choose_gid(const verbs_port_t *port, int wanted, int table, bool ethernet, struct ibv_gid_entry *best)
{
    verbs_gid_kind_t best_kind = VERBS_GID_NONE;
    for (uint32_t i = 0; i < (uint32_t)table && i < GIDS_MAX; i++) {
        struct ibv_gid_entry entry = {0};
        if ((wanted >= 0 && (uint32_t)wanted != i) ||
            port->api->query_gid(port->context, port->number, i, &entry, 0, sizeof(entry)) != 0)
            continue;
        if (ethernet && entry.gid_type != IBV_GID_TYPE_ROCE_V2)
            continue;
        verbs_gid_kind_t kind = verbs_gid_kind(entry.gid.raw);
        if (!ethernet && i == 0) /* InfiniBand: the port's own is the first one, whatever its prefix */
            kind = VERBS_GID_IPV4;
        if (kind >= best_kind)
            continue;
        best_kind = kind;
        *best = entry;
    }
    return best_kind != VERBS_GID_NONE;
}

static vbn_status_t unusable(const verbs_port_t *port, const char *why, const char *cure)
{
    return err_set(VBN_ERR_UNSUPPORTED, "%s: %s; %s", port->name, why, cure);
}

void verbs_port_describe(verbs_port_t *port)
{
    char text[64];
    verbs_gid_text(port->address.gid, text, sizeof(text));
    if (port->iwarp) {
        snprintf(port->why, sizeof(port->why), "%s, iWARP, MTU %u", port->name, port->address.mtu);
        return;
    }
    snprintf(port->why, sizeof(port->why), "%s, %s, GID %u %s, MTU %u", port->name,
             port->address.ethernet ? "RoCE v2" : "InfiniBand", port->gid_index, text, port->address.mtu);
}

/* Fills what is known of a port of an open device. The error says why it cannot be used. */
static vbn_status_t examine(verbs_port_t *port, const char *device, int wanted_gid)
{
    struct ibv_port_attr attr;
    struct ibv_gid_entry gid = {0};
    snprintf(port->name, sizeof(port->name), "%.60s:%u", device, port->number);
    if (verbs_port_query(port, &attr) != 0)
        return unusable(port, "the port cannot be queried", "see dmesg for the driver's messages");
    bool ethernet = attr.link_layer == IBV_LINK_LAYER_ETHERNET;
    port->iwarp = port->context->device->transport_type == IBV_TRANSPORT_IWARP;
    if (attr.state != IBV_PORT_ACTIVE)
        return unusable(port, "the port is not active",
                        ethernet ? "bring its interface up: ip link set DEV up" : "check cable and subnet manager");
    if (attr.active_mtu < IBV_MTU_1024)
        return unusable(port, "its MTU is below 1024 bytes", "raise the interface's: ip link set DEV mtu 4200");
    if (!port->iwarp && !choose_gid(port, wanted_gid, attr.gid_tbl_len, ethernet, &gid))
        return unusable(port, "it has no RoCE v2 GID that works",
                        "give its interface an address: ip addr add A/24 dev DEV");
    port->mtu = attr.active_mtu;
    port->message_max = attr.max_msg_sz;
    port->gid_index = (uint8_t)gid.gid_index;
    port->network = gid.ndev_ifindex;
    port->address = (verbs_address_t){
        .ethernet = ethernet, .lid = ethernet ? 0 : attr.lid, .mtu = 128u << (unsigned)attr.active_mtu};
    memcpy(port->address.gid, gid.gid.raw, sizeof(port->address.gid));
    port->gid_wanted = wanted_gid;
    __be16 pkey = 0;
    if (port->api->query_pkey(port->context, port->number, 0, &pkey) == 0)
        port->pkey = pkey;
    verbs_port_describe(port);
    return VBN_OK;
}

/* ---------------------------------------------------------------------------------------------- choice */

/* Entry number `index` of tl.verbs.device. false: there is none. */
static bool list_entry(const char *list, unsigned index, char *entry, size_t capacity)
{
    for (; index > 0 && *list != '\0'; index--) {
        list += strcspn(list, ",");
        list += *list == ',';
    }
    list += strspn(list, " ");
    (void)snprintf(entry, capacity, "%.*s", (int)strcspn(list, ", "), list);
    return entry[0] != '\0';
}

static bool wants_all(const settings_t *settings)
{
    return strcmp(settings->tl_verbs_device, "all") == 0;
}

/* Tries all ports of an open device; the first that can be used stays in `port`. */
static vbn_status_t try_device(verbs_port_t *port, const char *device, const choice_t *wanted)
{
    vbn_status_t status = VBN_ERR_UNSUPPORTED;
    if (port->api->query_device(port->context, &port->limits) != 0)
        return err_set(VBN_ERR_UNSUPPORTED, "%s cannot be queried", device);
    unsigned first = wanted->port > 0 ? (unsigned)wanted->port : 1;
    unsigned last = wanted->port > 0 ? first : port->limits.phys_port_cnt;
    for (unsigned number = first; number <= last && status != VBN_OK; number++) {
        port->number = (uint8_t)number;
        status = examine(port, device, wanted->gid_index);
    }
    return status;
}

static const char *open_cure(int error)
{
    switch (error) {
    case EPERM:
    case EACCES: return " (allow read and write on /dev/infiniband/uverbs*)";
    case ENOENT:
    case ENODEV:
    case ENXIO: return " (containers: --device=/dev/infiniband; modprobe ib_uverbs)";
    case ENOSYS:
    case EOPNOTSUPP:
    case EPROTONOSUPPORT: return " (install the package ibverbs-providers)";
    case ENOMEM: return " (it locks memory: ulimit -l unlimited)";
    default: return "";
    }
}

static vbn_status_t open_first(verbs_port_t *port, struct ibv_device *const *list, int count, const choice_t *wanted)
{
    vbn_status_t status = err_set(VBN_ERR_UNSUPPORTED, "no RDMA device is named %s (tl.verbs.device)",
                                  wanted->device[0] != '\0' ? wanted->device : "so");
    for (int i = 0; i < count; i++) {
        const char *name = port->api->get_device_name(list[i]);
        if (wanted->device[0] != '\0' && strcmp(name, wanted->device) != 0)
            continue;
        port->context = port->api->open_device(list[i]);
        if (port->context == NULL) {
            (void)err_sys(errno, "RDMA device %s cannot be opened%s", name, open_cure(errno));
            status = VBN_ERR_UNSUPPORTED;
            continue;
        }
        status = try_device(port, name, wanted);
        if (status == VBN_OK)
            return VBN_OK;
        (void)port->api->close_device(port->context);
        port->context = NULL;
    }
    return status;
}

static vbn_status_t get_devices(const verbs_api_t *api, struct ibv_device ***list_p, int *count_p)
{
    *list_p = api->get_device_list(count_p);
    if (*list_p != NULL && *count_p > 0)
        return VBN_OK;
    if (*list_p != NULL)
        api->free_device_list(*list_p);
    return err_set(VBN_ERR_UNSUPPORTED, "libibverbs finds no device: load ib_uverbs (modprobe ib_uverbs) and install "
                                        "ibverbs-providers");
}

/* Somebody who never asked for RDMA is not told how to get it. */
static bool asked_for(const settings_t *settings)
{
    return !settings_is_default(settings, "tl.enable") || settings->tl_verbs_device[0] != '\0';
}

unsigned verbs_port_count(const settings_t *settings)
{
    char entry[96];
    unsigned entries = 0;
    if (wants_all(settings)) {
        const verbs_api_t *api;
        struct ibv_device **list;
        int count = 0;
        if (verbs_api_get(false, &api) != VBN_OK || get_devices(api, &list, &count) != VBN_OK)
            return 1; /* opening it says why there is none */
        api->free_device_list(list);
        entries = (unsigned)count;
    }
    while (entries < VERBS_DEVICES_MAX && !wants_all(settings) &&
           list_entry(settings->tl_verbs_device, entries, entry, sizeof(entry)))
        entries++;
    return entries == 0 ? 1 : entries < VERBS_DEVICES_MAX ? entries : VERBS_DEVICES_MAX;
}

/* What device number `index` of the setting is, and the words for it. */
static vbn_status_t want(const settings_t *settings, unsigned index, struct ibv_device *const *list, int count,
                         const verbs_api_t *api, choice_t *wanted, char *reason, size_t capacity)
{
    char entry[96];
    if (wants_all(settings) && (int)index < count) {
        *wanted = (choice_t){.gid_index = -1};
        (void)snprintf(wanted->device, sizeof(wanted->device), "%s", api->get_device_name(list[index]));
        (void)snprintf(reason, capacity, "device %u of all, by tl.verbs.device", index + 1);
        return VBN_OK;
    }
    bool named = list_entry(settings->tl_verbs_device, index, entry, sizeof(entry));
    (void)snprintf(reason, capacity, named ? "named by tl.verbs.device" : "the first active port");
    return parse(entry, wanted);
}

/* The kernel destroys a process's queue pairs when the last copy of its descriptor is closed and nothing is mapped of it: a
 * child after fork() must have neither, or peers would take a dead process for a living one. Without memory for that nothing
 * else is wrong. */
static void keep_own(const struct ibv_context *context)
{
    if (context->cmd_fd >= 0)
        (void)os_own_keep(context->cmd_fd);
    (void)os_own_keep(context->async_fd);
}

static void forget_own(const struct ibv_context *context)
{
    (void)os_own_forget(context->cmd_fd);
    (void)os_own_forget(context->async_fd);
}

vbn_status_t verbs_port_open(verbs_port_t *port, const settings_t *settings, unsigned device, const log_sink_t *log)
{
    struct ibv_device **list;
    choice_t wanted;
    int count = 0;
    memset(port, 0, sizeof(*port));
    port->log = log;
    port->service_level = (uint8_t)settings->tl_verbs_service_level;
    port->traffic_class = (uint8_t)settings->tl_verbs_traffic_class;
    vbn_status_t status = verbs_api_get(asked_for(settings), &port->api);
    if (status == VBN_OK)
        status = get_devices(port->api, &list, &count);
    if (status != VBN_OK)
        return status;
    status = want(settings, device, list, count, port->api, &wanted, port->reason, sizeof(port->reason));
    if (status == VBN_OK)
        status = open_first(port, list, count, &wanted);
    port->api->free_device_list(list);
    if (status != VBN_OK)
        return status;
    port->pd = port->api->alloc_pd(port->context);
    int flags = fcntl(port->context->async_fd, F_GETFL);
    if (port->pd == NULL || flags < 0 || fcntl(port->context->async_fd, F_SETFL, flags | O_NONBLOCK) < 0) {
        status = verbs_failed(port, "a protection domain", errno);
        verbs_port_close(port);
    } else {
        keep_own(port->context);
    }
    return status;
}

void verbs_port_close(verbs_port_t *port)
{
    if (port->context != NULL)
        forget_own(port->context);
    if (port->pd != NULL)
        (void)port->api->dealloc_pd(port->pd);
    if (port->context != NULL)
        (void)port->api->close_device(port->context);
    port->pd = NULL;
    port->context = NULL;
}

static void list_device(const verbs_api_t *api, struct ibv_device *device, verbs_info_func_t func, void *arg)
{
    verbs_port_t port = {.api = api};
    const char *name = api->get_device_name(device);
    port.context = api->open_device(device);
    if (port.context == NULL || api->query_device(port.context, &port.limits) != 0) {
        func(arg, false, name, "cannot be opened: see the rights of /dev/infiniband and the package ibverbs-providers");
        if (port.context != NULL)
            (void)api->close_device(port.context);
        return;
    }
    for (unsigned number = 1; number <= port.limits.phys_port_cnt; number++) {
        port.number = (uint8_t)number;
        bool usable = examine(&port, name, -1) == VBN_OK;
        func(arg, usable, port.name, usable ? port.why : err_text());
    }
    (void)api->close_device(port.context);
}

vbn_status_t verbs_info_list(verbs_info_func_t func, void *arg)
{
    const verbs_api_t *api;
    struct ibv_device **list;
    int count = 0;
    vbn_status_t status = verbs_api_get(false, &api);
    if (status == VBN_OK)
        status = get_devices(api, &list, &count);
    if (status != VBN_OK)
        return status;
    for (int i = 0; i < count; i++)
        list_device(api, list[i], func, arg);
    api->free_device_list(list);
    return VBN_OK;
}

static const char *gid_reason(const verbs_port_t *port)
{
    if (port->iwarp || !port->address.ethernet)
        return port->iwarp ? "iWARP needs none" : "InfiniBand's first one";
    if (port->gid_wanted >= 0)
        return "named by tl.verbs.device";
    switch (verbs_gid_kind(port->address.gid)) {
    case VERBS_GID_IPV4: return "RoCE v2 with an IPv4 address comes first";
    case VERBS_GID_GLOBAL: return "global IPv6, as the interface has no IPv4 address";
    default: return "link-local, as the interface has no other address";
    }
}

vbn_status_t verbs_info_choice(const settings_t *settings, unsigned device, char *text, size_t capacity)
{
    verbs_port_t port;
    const log_sink_t nobody = {0};
    if (device >= verbs_port_count(settings))
        return err_set(VBN_ERR_INVALID, "no entry %u in tl.verbs.device", device);
    vbn_status_t status = verbs_port_open(&port, settings, device, &nobody);
    if (status < 0)
        return status;
    (void)snprintf(text, capacity, "%s: %s; its GID %u: %s", port.name, port.reason, port.gid_index, gid_reason(&port));
    verbs_port_close(&port);
    return VBN_OK;
}

/* ------------------------------------------------------------------------------------------------ using */

void verbs_port_route(const verbs_port_t *port, const verbs_address_t *to, struct ibv_ah_attr *route)
{
    memset(route, 0, sizeof(*route));
    route->dlid = to->lid;
    route->sl = port->service_level;
    route->port_num = port->number;
    route->is_global = to->ethernet || to->lid >= VERBS_LID_GROUP;
    if (!route->is_global)
        return;
    memcpy(route->grh.dgid.raw, to->gid, sizeof(to->gid));
    route->grh.sgid_index = port->gid_index;
    route->grh.hop_limit = 64;
    route->grh.traffic_class = port->traffic_class;
}

vbn_status_t verbs_failed(const verbs_port_t *port, const char *what, int error)
{
    struct rlimit limit = {0};
    bool locked = (error == ENOMEM || error == EPERM || error == EAGAIN) && getrlimit(RLIMIT_MEMLOCK, &limit) == 0 &&
                  limit.rlim_cur != RLIM_INFINITY;
    if (locked)
        return err_set(VBN_ERR_LIMIT,
                       "%s on %s: %s; locked memory is limited to %llu KiB: ulimit -l unlimited, "
                       "LimitMEMLOCK=infinity of a systemd unit, --ulimit memlock=-1 of a container",
                       what, port->name, strerror(error), (unsigned long long)(limit.rlim_cur >> 10));
    return err_sys(error, "%s on %s", what, port->name);
}

vbn_status_t verbs_register(const verbs_port_t *port, void *address, size_t bytes, unsigned access,
                            struct ibv_mr **mr_p)
{
    char what[64];
    errno = 0;
    if (port->iwarp && (access & IBV_ACCESS_LOCAL_WRITE) != 0)
        access |= IBV_ACCESS_REMOTE_WRITE; /* iWARP answers a read by a write to the reader's memory */
    if ((access & (IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE)) == 0)
        access |= (unsigned)IBV_ACCESS_RELAXED_ORDERING;
    *mr_p = port->api->register_memory(port->pd, address, bytes, (uintptr_t)address, access);
    if (*mr_p != NULL)
        return VBN_OK;
    snprintf(what, sizeof(what), "registering %zu bytes", bytes);
    return verbs_failed(port, what, errno != 0 ? errno : ENOMEM);
}
