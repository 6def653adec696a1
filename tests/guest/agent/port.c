/* SPDX-License-Identifier: Apache-2.0
 * port.c - frames over the virtio-serial port named "ctl". */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/reboot.h>
#include <unistd.h>

#include "agent.h"

static int port = -1;
static char buffer[FRAME_MAX + 1];
static size_t filled, taken; /* taken: bytes of the frame that port_next() gave out last */

static int has_name(const char *device)
{
    char path[300], name[16] = "";
    int fd;
    ssize_t length;
    snprintf(path, sizeof(path), "/sys/class/virtio-ports/%s/name", device);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    length = read(fd, name, sizeof(name) - 1);
    close(fd);
    return length == 4 && memcmp(name, "ctl\n", 4) == 0;
}

static int try_open(void)
{
    DIR *folder = opendir("/sys/class/virtio-ports");
    struct dirent *entry;
    char path[300];
    if (folder == NULL)
        return -1;
    while (port < 0 && (entry = readdir(folder)) != NULL) {
        if (!has_name(entry->d_name))
            continue;
        snprintf(path, sizeof(path), "/dev/%s", entry->d_name);
        port = open(path, O_RDWR | O_CLOEXEC);
    }
    closedir(folder);
    return port;
}

int port_open(void)
{
    for (int i = 0; i < 1000 && try_open() < 0; i++)
        usleep(20000);
    if (port < 0)
        fatal("no virtio-serial port of the name ctl", "");
    return port;
}

static void write_all(const char *data, size_t length)
{
    while (length > 0) {
        ssize_t done = write(port, data, length);
        if (done < 0 && errno != EINTR && errno != EAGAIN)
            return; /* the host is gone: its watchdog ends us */
        if (done < 0)
            continue;
        data += done;
        length -= (size_t)done;
    }
}

void port_send(char kind, unsigned id, long value, const void *data, size_t length)
{
    char header[80];
    int size = snprintf(header, sizeof(header), "%c %u %ld %zu\n", kind, id, value, length);
    write_all(header, (size_t)size);
    if (length > 0)
        write_all(data, length);
}

void port_receive(void)
{
    ssize_t length = read(port, buffer + filled, FRAME_MAX - filled);
    if (length > 0)
        filled += (size_t)length;
}

static void drop_taken(void)
{
    memmove(buffer, buffer + taken, filled - taken);
    filled -= taken;
    taken = 0;
}

int port_next(struct frame *frame)
{
    static char saved; /* the byte behind the last frame, where its 0 went */
    static int has_saved;
    char *line_end;
    size_t header;
    if (has_saved)
        buffer[taken] = saved;
    has_saved = 0;
    drop_taken();
    line_end = memchr(buffer, '\n', filled);
    if (line_end == NULL)
        return 0;
    header = (size_t)(line_end - buffer) + 1;
    if (sscanf(buffer, "%c %u %ld %zu\n", &frame->kind, &frame->id, &frame->value, &frame->length) != 4 ||
        frame->length > FRAME_MAX - header)
        fatal("a frame from the host is damaged or too long", "");
    if (filled < header + frame->length)
        return 0;
    frame->data = buffer + header;
    taken = header + frame->length;
    saved = buffer[taken];
    has_saved = 1;
    buffer[taken] = 0;
    return 1;
}

void fatal(const char *what, const char *subject)
{
    char text[400];
    int length = snprintf(text, sizeof(text), "%s %s: %s", what, subject, strerror(errno));
    size_t size = length < (int)sizeof(text) ? (size_t)length : sizeof(text) - 1;
    dprintf(2, "agent: %s\n", text);
    if (port >= 0)
        port_send('E', 0, 0, text, size);
    usleep(200000); /* the frame is still on its way */
    reboot(RB_POWER_OFF);
    _exit(1);
}
