/* SPDX-License-Identifier: MIT */
#include "record/batch.h"
#include "shardwheel/job/codes.h"
#include "shardwheel/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The column takes 15,000 UTF-16 units, which are at most three bytes of UTF-8 each. */
#define MESSAGE_BYTES_MAX 45000

static size_t cut_message(const char *message)
{
    return utf8_cut(message, strnlen(message, MESSAGE_BYTES_MAX + 1), MESSAGE_BYTES_MAX);
}

enum err submission_create(const struct callback_entry *entries, size_t count, struct submission **out,
                           struct errctx *ec)
{
    size_t size = sizeof(struct submission) + count * sizeof *entries;
    for (size_t i = 0; i < count; i++)
        size += entries[i].message ? cut_message(entries[i].message) + 1 : 0;

    struct submission *sub = malloc(size);
    if (!sub)
        return err_set(ec, ERR_NOMEM, "out of memory for %zu callbacks", count);
    memset(sub, 0, sizeof *sub);
    sub->entries = (struct callback_entry *)(sub + 1);
    sub->count = count;
    sub->bytes = size;
    char *at = (char *)(sub->entries + count);
    for (size_t i = 0; i < count; i++) {
        sub->entries[i] = (struct callback_entry){.log_id = entries[i].log_id, .code = entries[i].code};
        if (!entries[i].message)
            continue;
        size_t len = cut_message(entries[i].message);
        memcpy(at, entries[i].message, len);
        at[len] = '\0';
        sub->entries[i].message = at;
        at += len + 1;
    }
    cond_init(&sub->done);
    *out = sub;
    return ERR_OK;
}

void submission_destroy(struct submission *sub)
{
    if (!sub)
        return;
    cond_fini(&sub->done);
    free(sub);
}

void submission_copy_outcomes(const struct submission *sub, struct callback_entry *entries)
{
    for (size_t i = 0; i < sub->count; i++)
        entries[i].outcome = sub->entries[i].outcome;
}

static void append_entries(struct batch *batch, const struct submission *sub)
{
    memcpy(batch->entries + batch->count, sub->entries, sub->count * sizeof *batch->entries);
    batch->count += sub->count;
    batch->bytes += sub->bytes;
}

bool batch_add(struct batch *batch, struct submission *sub)
{
    if (batch->subs_count && (batch->count + sub->count > BATCH_ENTRIES || batch->bytes + sub->bytes > BATCH_BYTES))
        return false;
    batch->subs[batch->subs_count++] = sub;
    append_entries(batch, sub);
    return true;
}

void batch_fill(struct batch *batch)
{
    batch->count = batch->bytes = 0;
    for (size_t i = 0; i < batch->subs_count; i++)
        append_entries(batch, batch->subs[i]);
}

void batch_claim_results(struct batch *batch, struct results *results)
{
    for (size_t i = 0; i < batch->count; i++) {
        struct callback_entry *entry = &batch->entries[i];
        bool childless = false;
        entry->delivers = results_claim(results, entry->log_id, &childless);
        entry->childless = childless;
    }
}

void batch_settle_results(struct batch *batch, struct results *results, bool committed)
{
    const struct callback_entry *entry = batch->entries;

    for (size_t i = 0; i < batch->subs_count; i++) {
        bool written = committed && !batch->subs[i]->result;
        for (size_t n = batch->subs[i]->count; n > 0; n--, entry++)
            if (entry->delivers)
                results_settle(results, entry->log_id, written && entry->outcome == CALLBACK_STORED);
    }
}

static void tell_written(const struct callback_entry *entry)
{
    static const char *const outcomes[] = {
        [CALLBACK_STORED] = "stored", [CALLBACK_REPEATED] = "repeated", [CALLBACK_UNKNOWN_LOG] = "unknown_log"};

    log_fire(RECORD, "event=callback_written log_id=%" PRId64 " code=%d outcome=%s", entry->log_id, entry->code,
             outcomes[entry->outcome]);
}

struct batch_tally batch_end(struct batch *batch)
{
    struct batch_tally tally = {0};
    const struct callback_entry *from = batch->entries;

    for (size_t i = 0; i < batch->subs_count; i++) {
        struct submission *sub = batch->subs[i];
        size_t n = sub->count;
        for (size_t k = 0; k < n && !sub->result; k++) {
            sub->entries[k].outcome = from[k].outcome;
            switch (from[k].outcome) {
            case CALLBACK_STORED:
                tally.stored++;
                tally.succeeded += from[k].code == CODE_OK;
                break;
            case CALLBACK_REPEATED: tally.repeated++; break;
            case CALLBACK_UNKNOWN_LOG: tally.foreign++; break;
            }
        }
        from += n;
    }
    for (size_t i = 0; i < batch->count; i++)
        tell_written(&batch->entries[i]);
    return tally;
}

void batch_offer_logs(const struct batch *batch, struct keep_offers *keep)
{
    const struct callback_entry *entry = batch->entries;

    if (!keep)
        return;
    /* A repeat may be the first that a node hears of a run that shardwheelctl has stopped. */
    for (size_t i = 0; i < batch->subs_count; i++)
        for (size_t n = batch->subs[i]->count; n > 0; n--, entry++)
            if (!batch->subs[i]->result && entry->outcome != CALLBACK_UNKNOWN_LOG)
                keep_offer(keep, entry->log_id, entry->code != CODE_OK);
}

/* Every byte that is not ASCII becomes a question mark: better the sense of a text than an executor that sends for
 * ever. */
static enum err write_as_ascii(struct store_session *s, struct callback_entry *entry, int64_t now_s,
                               struct children *children, struct errctx *ec)
{
    const char *message = entry->message ? entry->message : "";
    char *copy = str_copy(message);
    if (!copy)
        return err_set(ec, ERR_NOMEM, "out of memory for a callback of %zu bytes", strlen(message));
    for (char *c = copy; *c; c++) {
        if ((unsigned char)*c >= 0x80)
            *c = '?';
    }
    entry->message = copy;
    enum err e = store_write_callbacks(s, entry, 1, now_s, children, ec);
    entry->message = message;
    free(copy);
    return e;
}

/* Writes what can be written; *refused becomes ERR_INPUT, with the text in refused_ec, when an entry could not be. */
static enum err write_halved(struct store_session *s, struct callback_entry *entries, size_t count, int64_t now_s,
                             struct children *children, enum err *refused, struct errctx *refused_ec, struct errctx *ec)
{
    enum err e = store_write_callbacks(s, entries, count, now_s, children, ec);
    if (e != ERR_INPUT)
        return e;
    if (count == 1) {
        e = write_as_ascii(s, entries, now_s, children, ec);
        if (e != ERR_INPUT)
            return e;
        *refused = err_set(refused_ec, ERR_INPUT, "the database refused the callback of log %" PRId64 ": %.400s",
                           entries->log_id, ec->text);
        return ERR_OK;
    }
    e = write_halved(s, entries, count / 2, now_s, children, refused, refused_ec, ec);
    if (!e)
        e = write_halved(s, entries + count / 2, count - count / 2, now_s, children, refused, refused_ec, ec);
    return e;
}

enum err batch_write_apart(struct batch *batch, struct store_session *s, int64_t now_s, struct children *children,
                           struct errctx *ec)
{
    size_t at = 0;
    for (size_t i = 0; i < batch->subs_count; i++) {
        struct submission *sub = batch->subs[i];
        size_t n = sub->count;
        enum err e = write_halved(s, batch->entries + at, n, now_s, children, &sub->result, &sub->ec, ec);
        if (e)
            return e;
        at += n;
    }
    return ERR_OK;
}
