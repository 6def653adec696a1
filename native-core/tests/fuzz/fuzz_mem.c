/* SPDX-License-Identifier: Apache-2.0
 * fuzz_mem.c - exported keys (first byte 0) and the header page of named memory, as another process wrote them. */
#include <sys/stat.h>
#include <unistd.h>

#include "balance.h"
#include "base/os.h"
#include "mem/key_blob.h"
#include "mem/mem_private.h"

static void decode_key(const uint8_t *data, size_t size)
{
    mem_key_info_t info;
    uint8_t again[KEY_BLOB_BYTES];
    if (mem_key_decode(data, size, &info) != VBN_OK)
        return;
    require(info.offset <= info.mem_bytes && info.length <= info.mem_bytes - info.offset);
    require(info.access >= 1 && info.access <= 3 && info.key_handle != 0);
    key_blob_encode(&info, again);
    require(size == sizeof(again) && memcmp(again, data, sizeof(again)) == 0);
}

/* One file for all runs; the right magic and host are put in when the script asks, nobody guesses those. */
static void check_file(script_t *script)
{
    static int fd = -1;
    size_t bytes = os_page_bytes() * 2;
    mem_file_header_t header;
    mem_file_header_t checked;
    if (fd < 0 && os_memfd("fuzz", bytes, &fd) != VBN_OK)
        abort();
    if (fchmod(fd, 0600) != 0)
        abort();
    uint8_t right = script_u8(script);
    script_bytes(script, &header, sizeof(header));
    if ((right & 1) != 0)
        header.magic = MEM_FILE_MAGIC;
    if ((right & 2) != 0)
        header.host_id = os_host_id();
    if (pwrite(fd, &header, sizeof(header), 0) != (ssize_t)sizeof(header))
        abort();
    if (mem_file_check(fd, "fuzz", &checked) == VBN_OK)
        require(checked.user_bytes == bytes - os_page_bytes() && checked.generation != 0);
}

static void run(const uint8_t *data, size_t size)
{
    script_t script = {data, size};
    if (size == 0)
        return;
    if (script_u8(&script) == 0)
        decode_key(script.at, script.left);
    else
        check_file(&script);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_balanced(run, data, size, true);
}
