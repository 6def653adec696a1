/* SPDX-License-Identifier: Apache-2.0
 * link_auth.c - transcript and macs of the wire-up. */
#include "link/link_auth.h"

#include <string.h>

#include "base/endian.h"

#define LABEL "verbena-link-1"
#define LABEL_BYTES 16
#define TRANSPORT_BYTES 16
#define MESSAGE_BYTES (LABEL_BYTES + 1 + TRANSPORT_BYTES + 2 * LINK_OFFER_BYTES + LINK_STATE_BYTES)

vbn_status_t link_auth_mac(const uint8_t *key, link_role_t role, const link_transcript_t *transcript,
                           const uint8_t *state, uint8_t mac[HMAC_BYTES])
{
    uint8_t message[MESSAGE_BYTES] = LABEL;
    uint8_t *at = message + LABEL_BYTES;
    memset(mac, 0, HMAC_BYTES);
    if (key == NULL)
        return VBN_OK;
    *at++ = (uint8_t)role;
    size_t name_bytes = strnlen(transcript->transport, TRANSPORT_BYTES - 1);
    memcpy(at, transcript->transport, name_bytes);
    at += TRANSPORT_BYTES;
    memcpy(at, transcript->hello, LINK_OFFER_BYTES);
    at += LINK_OFFER_BYTES;
    memcpy(at, transcript->challenge, LINK_OFFER_BYTES);
    at += LINK_OFFER_BYTES;
    if (state != NULL)
        memcpy(at, state, LINK_STATE_BYTES);
    return hmac_sha256(key, message, sizeof(message), mac);
}

vbn_status_t link_auth_check(const uint8_t *key, link_role_t role, const link_transcript_t *transcript,
                             const uint8_t *state, const uint8_t mac[HMAC_BYTES])
{
    uint8_t right[HMAC_BYTES];
    vbn_status_t status = link_auth_mac(key, role, transcript, state, right);
    if (status < 0)
        return status;
    if (!hmac_equal(right, mac))
        return err_set(VBN_ERR_AUTH, "the peer does not know this job's key: give all processes of the job the same "
                                     "key (vbn_config_set_job_key)");
    return VBN_OK;
}
