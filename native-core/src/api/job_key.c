/* SPDX-License-Identifier: Apache-2.0
 * job_key.c - a job key out of a file. */
#include <string.h>

#include "api/api_private.h"
#include "base/key_file.h"

vbn_status_t vbn_config_read_job_key(vbn_config_t *config, const char *path)
{
    uint8_t key[VBN_JOB_KEY_BYTES];
    if (config == NULL || path == NULL)
        return err_set(VBN_ERR_INVALID, "reading a job key needs a configuration and the path of a file");
    vbn_status_t status = key_file_read(path, false, key);
    if (status >= 0)
        status = vbn_config_set_job_key(config, key);
    explicit_bzero(key, sizeof(key));
    return status;
}
