/* SPDX-License-Identifier: Apache-2.0
 * status.c - the per-thread error record and the names of status codes. */
#include "base/status.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define ERR_TEXT_BYTES 1024

/* Threading: each thread sees only its own record. Ownership: err_text() lends it until the thread's next failure. */
static _Thread_local char err_record[ERR_TEXT_BYTES] = "no error";
static _Thread_local vbn_status_t err_code; /* what the text is about */

const char *vbn_status_name(vbn_status_t status)
{
    switch (status) {
    case VBN_OK: return "VBN_OK";
    case VBN_INPROGRESS: return "VBN_INPROGRESS";
    case VBN_BUSY: return "VBN_BUSY";
    case VBN_ERR_INVALID: return "VBN_ERR_INVALID";
    case VBN_ERR_NO_MEMORY: return "VBN_ERR_NO_MEMORY";
    case VBN_ERR_LIMIT: return "VBN_ERR_LIMIT";
    case VBN_ERR_SETTING: return "VBN_ERR_SETTING";
    case VBN_ERR_UNREACHABLE: return "VBN_ERR_UNREACHABLE";
    case VBN_ERR_AUTH: return "VBN_ERR_AUTH";
    case VBN_ERR_VERSION: return "VBN_ERR_VERSION";
    case VBN_ERR_PEER_LOST: return "VBN_ERR_PEER_LOST";
    case VBN_ERR_CLOSED: return "VBN_ERR_CLOSED";
    case VBN_ERR_STALE: return "VBN_ERR_STALE";
    case VBN_ERR_RANGE: return "VBN_ERR_RANGE";
    case VBN_ERR_ACCESS: return "VBN_ERR_ACCESS";
    case VBN_ERR_TRUNCATED: return "VBN_ERR_TRUNCATED";
    case VBN_ERR_PROTOCOL: return "VBN_ERR_PROTOCOL";
    case VBN_ERR_TIMEOUT: return "VBN_ERR_TIMEOUT";
    case VBN_ERR_SYSTEM: return "VBN_ERR_SYSTEM";
    case VBN_ERR_FORKED: return "VBN_ERR_FORKED";
    case VBN_ERR_UNSUPPORTED: return "VBN_ERR_UNSUPPORTED";
    case VBN_ERR_CORRUPT: return "VBN_ERR_CORRUPT";
    case VBN_ERR_IN_USE: return "VBN_ERR_IN_USE";
    case VBN_STATUS_LAST: break;
    }
    return "VBN_ERR_UNKNOWN";
}

const char *vbn_error_text(void)
{
    return err_record;
}

const char *err_text(void)
{
    return err_record;
}

/* Appends to text[ERR_TEXT_BYTES]; what does not fit is replaced by "...". */
BASE_PRINTF(2, 0) static void text_append(char *text, const char *format, va_list args)
{
    size_t used = strlen(text);
    int n = vsnprintf(text + used, ERR_TEXT_BYTES - used, format, args);
    if (n < 0)
        text[used] = '\0';
    else if ((size_t)n >= ERR_TEXT_BYTES - used)
        memcpy(text + ERR_TEXT_BYTES - 4, "...", 4);
}

BASE_PRINTF(2, 3) static void text_add(char *text, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    text_append(text, format, args);
    va_end(args);
}

/* The three below format into a buffer of their own first, because an argument may be err_text(). */

vbn_status_t err_set(vbn_status_t code, const char *format, ...)
{
    char text[ERR_TEXT_BYTES] = "";
    va_list args;
    va_start(args, format);
    text_append(text, format, args);
    va_end(args);
    memcpy(err_record, text, strlen(text) + 1);
    err_code = code;
    return code;
}

static vbn_status_t status_of_errno(int errnum)
{
    switch (errnum) {
    case ENOMEM:
    case ENOSPC: return VBN_ERR_NO_MEMORY;
    case EACCES:
    case EPERM: return VBN_ERR_ACCESS;
    case EMFILE:
    case ENFILE: return VBN_ERR_LIMIT;
    case EADDRINUSE: return VBN_ERR_IN_USE;
    default: return VBN_ERR_SYSTEM;
    }
}

const char *err_cure(int errnum)
{
    switch (errnum) {
    case EMFILE: return " (this process may open no more files: raise ulimit -n, LimitNOFILE= of a systemd unit)";
    case ENFILE: return " (the whole host may open no more files: raise sysctl fs.file-max)";
    default: return "";
    }
}

vbn_status_t err_sys(int errnum, const char *format, ...)
{
    char text[ERR_TEXT_BYTES] = "";
    char reason[128] = "";
    va_list args;
    va_start(args, format);
    text_append(text, format, args);
    va_end(args);
    text_add(text, ": %s%s", strerror_r(errnum, reason, sizeof(reason)), err_cure(errnum));
    memcpy(err_record, text, strlen(text) + 1);
    err_code = status_of_errno(errnum);
    return err_code;
}

vbn_status_t err_add(vbn_status_t code, const char *format, ...)
{
    char text[ERR_TEXT_BYTES];
    va_list args;
    memcpy(text, err_record, sizeof(text));
    text_add(text, "; ");
    va_start(args, format);
    text_append(text, format, args);
    va_end(args);
    memcpy(err_record, text, strlen(text) + 1);
    err_code = code;
    return code;
}

const char *status_meaning(vbn_status_t status)
{
    switch (status) {
    case VBN_OK: return "done";
    case VBN_INPROGRESS: return "it completes later";
    case VBN_BUSY: return "there is work to do first";
    case VBN_ERR_INVALID: return "an argument is wrong";
    case VBN_ERR_NO_MEMORY: return "heap, a pool or tmpfs space is exhausted";
    case VBN_ERR_LIMIT: return "a limit (setting, ulimit, quota) would be exceeded";
    case VBN_ERR_SETTING: return "a setting is unknown or has a bad value";
    case VBN_ERR_UNREACHABLE: return "no transport reaches the peer";
    case VBN_ERR_AUTH: return "the job keys differ";
    case VBN_ERR_VERSION: return "the protocol versions differ";
    case VBN_ERR_PEER_LOST: return "the peer died or its connection broke";
    case VBN_ERR_CLOSED: return "an object was closed while the operation was pending";
    case VBN_ERR_STALE: return "the memory of the key was freed or revoked, or the handle's object is gone";
    case VBN_ERR_RANGE: return "the range lies outside the key or memory";
    case VBN_ERR_ACCESS: return "a right is missing";
    case VBN_ERR_TRUNCATED: return "the receive buffer is smaller than the message";
    case VBN_ERR_PROTOCOL: return "something malformed was sent";
    case VBN_ERR_TIMEOUT: return "no answer came in time";
    case VBN_ERR_SYSTEM: return "a system call failed";
    case VBN_ERR_FORKED: return "the object belongs to the parent of a fork";
    case VBN_ERR_UNSUPPORTED: return "this build or host, or the receiver of the message, cannot do it";
    case VBN_ERR_CORRUPT: return "the data fails its checks";
    case VBN_ERR_IN_USE: return "another process or worker has the port or address";
    case VBN_STATUS_LAST: break;
    }
    return "a status that this version does not know";
}

void err_ensure(vbn_status_t code)
{
    if (err_code != code)
        (void)err_set(code, "the operation ended with %s: %s", vbn_status_name(code), status_meaning(code));
}
