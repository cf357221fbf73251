/* SPDX-License-Identifier: MIT */
/*
 * strange_store: what fuzz targets of the store have in common. Byte 0 of an input chooses one of `ways`, byte 1 what
 * the tables can do, the rest is what the database answers (strange_rows.h).
 */
#ifndef FUZZ_STRANGE_STORE_H
#define FUZZ_STRANGE_STORE_H

#include "strange_rows.h"

#include "store/conn/session.h"

#define NOW_S INT64_C(1767225600)
#define LIMIT_MS 1000

typedef enum err way(struct store_session *s, struct errctx *ec);

static const int64_t ids[] = {1, 2, 3, 4};
static struct buf sink;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Its check of strstr reads the whole text each time: minutes for a text of megabytes with many line ends. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "intercept_strstr=0";
}

/* Reads every byte of it, so that one that is gone is found. */
static inline void touch(const char *text)
{
    if (text)
        buf_puts(&sink, text);
    sink.len = 0;
}

/* What a schema has is asked once; strangers write rows, not tables. */
static inline void set_features(struct store *st, unsigned bits)
{
    st->has_features = true;
    st->features = (struct store_features){.family = bits & 1 ? "2.3" : "3.5",
                                           .job_name_is_desc = bits & 1,
                                           .group_title = bits & 1,
                                           .group_title_len = 64,
                                           .group_access_token = bits & 2,
                                           .user_token = bits & 2,
                                           .user_password_len = 100,
                                           .registry_unique = bits & 4,
                                           .param_len = 512,
                                           .skip_locked = bits & 8,
                                           .own_tables = true,
                                           .own_version = 1,
                                           .own_complete = true};
    if (bits & 32) {
        strcpy(st->features.log_handle_code_name, "i_code");
        strcpy(st->features.log_job_id_name, "i_job");
        strcpy(st->features.log_group_name, "i_group");
        strcpy(st->features.log_trigger_time_name, "i_time");
    }
}

static inline int go_way(way *const *ways, size_t count, const uint8_t *data, size_t size)
{
    const struct store_opts opts = {.socket = "/none",
                                    .database = "d",
                                    .user = "u",
                                    .zone = "America/New_York",
                                    .max_sessions = 1,
                                    .connect_timeout_ms = LIMIT_MS,
                                    .read_timeout_ms = LIMIT_MS};
    static struct store *st; /* its zone is read once */
    struct store_session *s = NULL;
    struct errctx ec = {""};

    if (size < 2)
        return -1;
    if (!st && store_create(&opts, clock_system(), NULL, &st, &ec))
        abort();
    input = (struct input){data + 2, size - 2};
    set_features(st, data[1]);
    if (store_take_session(st, SESSION_NORMAL, &s, &ec))
        abort();
    if (ways[data[0] % count](s, &ec) && ec.text[0] == '\0')
        abort(); /* a failure says something */
    if (s->in_txn)
        abort(); /* between calls no transaction is open */
    store_close_session(st, s);
    return 0;
}

#endif
