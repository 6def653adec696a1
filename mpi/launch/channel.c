/* SPDX-License-Identifier: Apache-2.0
 * channel.c - frames over two pipes, both non-blocking.
 */
#include "launch/channel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HEADER 9u
#define READ_AT_ONCE 65536u

static uint32_t get_u32(const uint8_t *bytes)
{
    return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

static void put_u32(uint8_t *bytes, uint32_t value)
{
    for (unsigned i = 0; i < 4; i++)
        bytes[i] = (uint8_t)(value >> 8 * i);
}

/* Makes room for so many bytes behind those that are there. */
static int grow(launch_bytes_t *bytes, size_t more)
{
    if (bytes->at > 0) {
        bytes->length -= bytes->at;
        memmove(bytes->data, bytes->data + bytes->at, bytes->length);
        bytes->at = 0;
    }
    if (bytes->length + more <= bytes->room)
        return 0;
    size_t room = bytes->room == 0 ? READ_AT_ONCE : bytes->room;
    while (room < bytes->length + more)
        room *= 2;
    uint8_t *data = realloc(bytes->data, room);
    if (data == NULL)
        return -1;
    bytes->data = data;
    bytes->room = room;
    return 0;
}

static int append(launch_bytes_t *bytes, const void *data, size_t length)
{
    if (grow(bytes, length) != 0)
        return -1;
    if (length > 0)
        memcpy(bytes->data + bytes->length, data, length);
    bytes->length += length;
    return 0;
}

size_t channel_waiting(const launch_channel_t *channel)
{
    return channel->tx.length - channel->tx.at;
}

int channel_flush(launch_channel_t *channel)
{
    while (channel->out >= 0 && channel_waiting(channel) > 0) {
        const ssize_t n = write(channel->out, channel->tx.data + channel->tx.at, channel_waiting(channel));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno == EAGAIN ? 0 : -1;
        channel->tx.at += (size_t)n;
    }
    return 0;
}

int channel_queue(launch_channel_t *channel, const void *bytes, size_t length)
{
    return channel->out < 0 ? -1 : append(&channel->tx, bytes, length);
}

int channel_send_raw(launch_channel_t *channel, const void *bytes, size_t length)
{
    return channel_queue(channel, bytes, length) != 0 ? -1 : channel_flush(channel);
}

int channel_send(launch_channel_t *channel, launch_frame_type_t type, uint32_t rank, const void *payload, size_t length)
{
    uint8_t header[HEADER];
    if (channel->out < 0 || length > CHANNEL_MOST)
        return -1;
    put_u32(header, (uint32_t)length);
    put_u32(header + 4, rank);
    header[8] = (uint8_t)type;
    if (append(&channel->tx, header, sizeof(header)) != 0)
        return -1;
    return channel_send_raw(channel, payload, length);
}

int channel_send_number(launch_channel_t *channel, launch_frame_type_t type, uint32_t rank, uint32_t number)
{
    uint8_t bytes[4];
    put_u32(bytes, number);
    return channel_send(channel, type, rank, bytes, sizeof(bytes));
}

uint32_t channel_number(const uint8_t *payload)
{
    return get_u32(payload);
}

int channel_read(launch_channel_t *channel)
{
    for (;;) {
        if (channel->in < 0 || grow(&channel->rx, READ_AT_ONCE) != 0)
            return -1;
        const ssize_t n = read(channel->in, channel->rx.data + channel->rx.length, READ_AT_ONCE);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return 0;
        if (n <= 0)
            return -1;
        channel->rx.length += (size_t)n;
        if ((size_t)n < READ_AT_ONCE)
            return 0;
    }
}

/* Skips what comes before the magic. */
static int greet(launch_channel_t *channel)
{
    launch_bytes_t *rx = &channel->rx;
    const uint8_t *found = rx->length == rx->at ? NULL
                                                : memmem(rx->data + rx->at, rx->length - rx->at, CHANNEL_MAGIC,
                                                         sizeof(CHANNEL_MAGIC) - 1);
    if (found == NULL)
        return rx->length - rx->at > CHANNEL_NOISE ? -1 : 0;
    rx->at = (size_t)(found - rx->data) + sizeof(CHANNEL_MAGIC) - 1;
    channel->greeted = 1;
    return 1;
}

int channel_next(launch_channel_t *channel, launch_frame_t *frame)
{
    const launch_bytes_t *rx = &channel->rx;
    if (!channel->greeted) {
        const int greeted = greet(channel);
        if (greeted <= 0)
            return greeted;
    }
    if (rx->length - rx->at < HEADER)
        return 0;
    const uint8_t *header = rx->data + rx->at;
    const uint32_t length = get_u32(header);
    if (length > CHANNEL_MOST || header[8] < FRAME_CONFIG || header[8] >= FRAME_TYPES)
        return -1;
    if (rx->length - rx->at - HEADER < length)
        return 0;
    *frame = (launch_frame_t){
        .type = header[8], .rank = get_u32(header + 4), .payload = header + HEADER, .length = length};
    channel->rx.at += HEADER + length;
    return 1;
}

void channel_close(launch_channel_t *channel)
{
    if (channel->in >= 0)
        close(channel->in);
    if (channel->out >= 0 && channel->out != channel->in)
        close(channel->out);
    channel->in = channel->out = -1;
    free(channel->rx.data);
    free(channel->tx.data);
    channel->rx = channel->tx = (launch_bytes_t){0};
}
