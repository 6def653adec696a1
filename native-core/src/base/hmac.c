/* SPDX-License-Identifier: Apache-2.0
 * hmac.c - HMAC-SHA256 by OpenSSL 3's EVP_MAC in a library context of our own. The default context would read the
 * host's openssl.cnf, which a libcrypto linked into our JNI library must not: it may name modules of another OpenSSL. */
#include "base/hmac.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <pthread.h>

/* Made on first use, immutable afterwards, shared by all threads, kept until the process ends. */
static pthread_once_t hmac_once = PTHREAD_ONCE_INIT;
static OSSL_LIB_CTX *hmac_library;
static EVP_MAC *hmac_method;

static void hmac_load(void)
{
    hmac_library = OSSL_LIB_CTX_new();
    if (hmac_library != NULL)
        hmac_method = EVP_MAC_fetch(hmac_library, "HMAC", NULL);
}

vbn_status_t hmac_sha256(const uint8_t key[32], const void *data, size_t length, uint8_t mac[HMAC_BYTES])
{
    char digest[] = "SHA256";
    OSSL_PARAM params[] = {OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
                           OSSL_PARAM_construct_end()};
    size_t written = 0;
    pthread_once(&hmac_once, hmac_load);
    if (hmac_method == NULL)
        return err_set(VBN_ERR_UNSUPPORTED, "libcrypto offers no HMAC: install OpenSSL 3 with its default provider");
    EVP_MAC_CTX *context = EVP_MAC_CTX_new(hmac_method);
    if (context == NULL)
        return err_set(VBN_ERR_NO_MEMORY, "no memory for an HMAC context");
    int good = EVP_MAC_init(context, key, 32, params) && EVP_MAC_update(context, data, length) &&
               EVP_MAC_final(context, mac, &written, HMAC_BYTES) && written == HMAC_BYTES;
    EVP_MAC_CTX_free(context);
    return good ? VBN_OK : err_set(VBN_ERR_UNSUPPORTED, "libcrypto cannot compute HMAC-SHA256");
}

bool hmac_equal(const uint8_t a[HMAC_BYTES], const uint8_t b[HMAC_BYTES])
{
    return CRYPTO_memcmp(a, b, HMAC_BYTES) == 0;
}
