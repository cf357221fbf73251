/* SPDX-License-Identifier: MIT */
/* The tables and the JSON of shardwheelctl. */
#include "ctl/parts.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CELL_MAX 320
#define COLUMNS_MAX 9

enum err ctl_print(struct buf *text, struct errctx *ec)
{
    bool ok = !buf_failed(text) && fputs(text->data, stdout) >= 0;

    buf_fini(text);
    return ok ? ERR_OK : err_set(ec, ERR_NOMEM, "the result cannot be printed");
}

/* ---- a table ----------------------------------------------------------------------------------------------------- */

/* Lines of cells; the first line is the head. */
struct table {
    size_t columns;
    size_t cells; /* filled so far */
    size_t max;
    char (*text)[CELL_MAX];
};

static bool table_init(struct table *t, size_t columns, size_t lines)
{
    *t = (struct table){.columns = columns, .max = columns * lines};
    t->text = calloc(t->max, sizeof *t->text);
    return t->text != NULL;
}

PRINTF_LIKE(2, 3) static void put(struct table *t, const char *fmt, ...)
{
    va_list args;

    if (t->cells == t->max)
        return;
    va_start(args, fmt);
    vsnprintf(t->text[t->cells++], CELL_MAX, fmt, args);
    va_end(args);
}

/* Columns as wide as their widest cell; nothing trails the last one. */
static void write_table(struct table *t, struct buf *out)
{
    size_t width[COLUMNS_MAX] = {0};

    for (size_t i = 0; i < t->cells; i++) {
        size_t len = strlen(t->text[i]);

        if (len > width[i % t->columns])
            width[i % t->columns] = len;
    }
    for (size_t i = 0; i < t->cells; i++) {
        bool last = i % t->columns == t->columns - 1;

        buf_printf(out, "%-*s%s", last ? 0 : (int)width[i % t->columns], t->text[i], last ? "\n" : "  ");
    }
    free(t->text);
}

/* "45s", "12m30s", "2h05m", "3d04h"; below nothing counts as nothing. */
struct span {
    char s[32];
};

static struct span format_span(int64_t ms)
{
    int64_t s = ms > 0 ? ms / 1000 : 0;
    struct span out;

    if (s < 60)
        snprintf(out.s, sizeof out.s, "%" PRId64 "s", s);
    else if (s < 3600)
        snprintf(out.s, sizeof out.s, "%" PRId64 "m%02" PRId64 "s", s / 60, s % 60);
    else if (s < 86400)
        snprintf(out.s, sizeof out.s, "%" PRId64 "h%02" PRId64 "m", s / 3600, s / 60 % 60);
    else
        snprintf(out.s, sizeof out.s, "%" PRId64 "d%02" PRId64 "h", s / 86400, s / 3600 % 24);
    return out;
}

/* ---- shards ------------------------------------------------------------------------------------------------------ */

static double lag_s(const struct shard_view *row, int64_t now_ms)
{
    return (double)(now_ms - row->cursor_s * 1000) / 1000.0;
}

static void write_shards_json(const struct cluster_status *status, struct buf *out)
{
    buf_printf(out, "{\"shards\":%d,\"change\":", status->shards);
    if (status->wish.shards)
        buf_printf(out, "{\"shards\":%d,\"lastSecond\":%" PRId64 ",\"try\":%d}", status->wish.shards,
                   status->wish.last_s, status->wish.tries);
    else
        buf_puts(out, "null");
    buf_puts(out, ",\"rows\":[");
    for (size_t i = 0; i < status->count; i++) {
        const struct shard_view *row = &status->rows[i];
        int64_t held = shard_get_held_ms(row, status->now_ms);

        buf_printf(out, "%s\n{\"shard\":%d,\"owner\":", i ? "," : "", row->shard);
        buf_put_json(out, row->owner[0] ? row->owner : NULL);
        buf_printf(out, ",\"epoch\":%" PRId64, row->epoch);
        if (held >= 0)
            buf_printf(out, ",\"heldSeconds\":%" PRId64, held / 1000);
        else
            buf_puts(out, ",\"heldSeconds\":null");
        if (row->cursor_s)
            buf_printf(out, ",\"cursorLagSeconds\":%.1f", lag_s(row, status->now_ms));
        else
            buf_puts(out, ",\"cursorLagSeconds\":null");
        buf_printf(out, ",\"planned\":%" PRId64 ",\"openBefore\":%" PRId64 "}", row->planned, row->open_before);
    }
    buf_puts(out, status->count ? "\n]}\n" : "]}\n");
}

void ctl_write_shards(const struct cluster_status *status, bool json, struct buf *out)
{
    static const char *const head[] = {"SHARD", "OWNER", "EPOCH", "HELD", "LAG_S", "PLANNED", "OPEN_BEFORE"};
    struct table t;

    if (json) {
        write_shards_json(status, out);
        return;
    }
    if (!status->shards) {
        buf_puts(out, "No node has used this database yet: there are no shards.\n");
        return;
    }
    if (!table_init(&t, ARRAY_LEN(head), status->count + 1)) {
        out->failed = true;
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(head); i++)
        put(&t, "%s", head[i]);
    for (size_t i = 0; i < status->count; i++) {
        const struct shard_view *row = &status->rows[i];
        int64_t held = shard_get_held_ms(row, status->now_ms);

        put(&t, "%d", row->shard);
        put(&t, "%s", row->owner[0] ? row->owner : "-");
        put(&t, "%" PRId64, row->epoch);
        put(&t, "%s", held >= 0 ? format_span(held).s : "-");
        if (row->cursor_s)
            put(&t, "%.1f", lag_s(row, status->now_ms));
        else
            put(&t, "-");
        put(&t, "%" PRId64, row->planned);
        put(&t, "%" PRId64, row->open_before);
    }
    write_table(&t, out);
    if ((int64_t)status->count < status->shards)
        buf_printf(out, "%d of the %d shards of the cluster have no row: the next node that starts creates them.\n",
                   status->shards - (int)status->count, status->shards);
    if (status->wish.shards)
        buf_printf(out, "A change from %d to %d shards is in progress, try %d of %d.\n", status->shards,
                   status->wish.shards, status->wish.tries, RESHARD_TRIES);
}

/* ---- nodes ------------------------------------------------------------------------------------------------------- */

static void write_nodes_json(const struct node_row *nodes, size_t count, int64_t now_ms, struct buf *out)
{
    buf_puts(out, "[");
    for (size_t i = 0; i < count; i++) {
        const struct node_row *node = &nodes[i];

        buf_printf(out, "%s\n{\"node\":", i ? "," : "");
        buf_put_json(out, node->node);
        buf_puts(out, ",\"url\":");
        buf_put_json(out, node->url);
        buf_puts(out, ",\"incarnation\":");
        buf_put_json(out, node->incarnation);
        buf_puts(out, ",\"version\":");
        buf_put_json(out, node->version);
        buf_printf(out,
                   ",\"state\":\"%s\",\"owned\":%d,\"drain\":%s,\"upSeconds\":%" PRId64 ",\"beatAgoSeconds\":%.1f,"
                   "\"clockAheadMs\":%" PRId64 "}",
                   node_get_state(node, now_ms), node->owned, node->drain ? "true" : "false",
                   node_get_up_ms(node, now_ms) / 1000, (double)(now_ms - node->beat_ms) / 1000.0, node->clock_ms);
    }
    buf_puts(out, count ? "\n]\n" : "]\n");
}

void ctl_write_nodes(const struct node_row *nodes, size_t count, int64_t now_ms, bool json, struct buf *out)
{
    static const char *const head[] = {"NODE",     "STATE",   "OWNED",       "UP", "LAST_BEAT",
                                       "CLOCK_MS", "VERSION", "INCARNATION", "URL"};
    struct table t;

    if (json) {
        write_nodes_json(nodes, count, now_ms, out);
        return;
    }
    if (!count) {
        buf_puts(out, "No node uses this database.\n");
        return;
    }
    if (!table_init(&t, ARRAY_LEN(head), count + 1)) {
        out->failed = true;
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(head); i++)
        put(&t, "%s", head[i]);
    for (size_t i = 0; i < count; i++) {
        const struct node_row *node = &nodes[i];

        put(&t, "%s", node->node);
        put(&t, "%s", node_get_state(node, now_ms));
        put(&t, "%d", node->owned);
        put(&t, "%s", format_span(node_get_up_ms(node, now_ms)).s);
        put(&t, "%.1fs", (double)(now_ms - node->beat_ms) / 1000.0);
        put(&t, "%+" PRId64, node->clock_ms);
        put(&t, "%s", node->version);
        put(&t, "%s", node->incarnation);
        put(&t, "%s", node->url);
    }
    write_table(&t, out);
}
