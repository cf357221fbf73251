/* SPDX-License-Identifier: MIT */
#include "shardwheel/keep.h"
#include "shardwheel/store/kept.h"

#include <stdlib.h>

enum err keep_read(struct store_session *s, int64_t log_id, int64_t job_id, struct keep_copy *out, struct errctx *ec)
{
    struct kept_log log;
    void *memory = NULL;
    enum err e = store_load_kept(s, log_id, job_id, &log, &memory, ec);

    *out = (struct keep_copy){.at_ms = log.at_ms, .is_cut = log.is_cut};
    if (!e)
        e = keep_unpack(log.data, log.len, log.text_len, &out->text, ec);
    free(memory);
    if (e)
        keep_copy_fini(out);
    return e;
}

void keep_copy_fini(struct keep_copy *copy)
{
    buf_fini(&copy->text);
    *copy = (struct keep_copy){0};
}
