/* SPDX-License-Identifier: MIT */
/* The tables of shardwheelctl; shards and nodes. */
#include "ctl/parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define COLUMNS_MAX 9

enum err ctl_print(struct buf *text, struct errctx *ec)
{
    bool ok = !buf_failed(text) && (!text->len || fputs(text->data, stdout) >= 0);

    return ok ? ERR_OK : err_set(ec, ERR_NOMEM, "the result cannot be printed");
}

/* ---- a table ----------------------------------------------------------------------------------------------------- */

/* Lines of cells with tabs between them: columns as wide as their widest cell; nothing trails the last one. */
static void put_columns(const struct buf *cells, struct buf *out)
{
    size_t width[COLUMNS_MAX] = {0}, column = 0, len;

    if (buf_failed(cells)) {
        out->failed = true;
        return;
    }
    for (const char *at = cells->data; *at; at += len + 1) {
        len = strcspn(at, "\t\n");
        width[column] = len > width[column] ? len : width[column];
        column = at[len] == '\n' ? 0 : (column + 1) % COLUMNS_MAX;
    }
    for (const char *at = cells->data; *at; at += len + 1) {
        bool is_last;

        len = strcspn(at, "\t\n");
        is_last = at[len] == '\n';
        buf_printf(out, "%-*.*s%s", is_last ? 0 : (int)width[column], (int)len, at, is_last ? "\n" : "  ");
        column = is_last ? 0 : (column + 1) % COLUMNS_MAX;
    }
}

void ctl_put_cell(struct buf *out, const char *text)
{
    for (; *text; text++)
        buf_putc(out, *text == '\t' || *text == '\n' || *text == '\r' ? ' ' : *text);
}

void ctl_put_table(const char *head, const struct buf *lines, struct buf *out)
{
    struct buf cells = {0};

    buf_puts(&cells, head);
    buf_puts(&cells, lines->len ? lines->data : "");
    cells.failed = cells.failed || buf_failed(lines);
    put_columns(&cells, out);
    buf_fini(&cells);
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
    member_object(out, NULL);
    member_int(out, "shards", status->shards);
    if (status->wish.shards)
        buf_printf(member_name(out, "change"), "{\"shards\":%d,\"lastSecond\":%" PRId64 ",\"try\":%d}",
                   status->wish.shards, status->wish.last_s, status->wish.tries);
    else
        member_null(out, "change");
    member_list(out, "rows");
    for (size_t i = 0; i < status->count; i++) {
        const struct shard_view *row = &status->rows[i];
        int64_t held = shard_get_held_ms(row, status->now_ms);

        buf_puts(out, i ? ",\n{" : "\n{");
        member_int(out, "shard", row->shard);
        member_text(out, "owner", row->owner[0] ? row->owner : NULL);
        member_int(out, "epoch", row->epoch);
        member_int_if(out, "heldSeconds", held >= 0, held / 1000);
        if (row->cursor_s)
            buf_printf(member_name(out, "cursorLagSeconds"), "%.1f", lag_s(row, status->now_ms));
        else
            member_null(out, "cursorLagSeconds");
        member_int(out, "planned", row->planned);
        member_int(out, "openBefore", row->open_before);
        buf_putc(out, '}');
    }
    buf_puts(out, status->count ? "\n]}\n" : "]}\n");
}

static void write_shards_text(const struct cluster_status *status, struct buf *out)
{
    struct buf cells = {0};

    buf_puts(&cells, "SHARD\tOWNER\tEPOCH\tHELD\tLAG_S\tPLANNED\tOPEN_BEFORE\n");
    for (size_t i = 0; i < status->count; i++) {
        const struct shard_view *row = &status->rows[i];
        int64_t held = shard_get_held_ms(row, status->now_ms);
        char lag[40] = "-";

        if (row->cursor_s)
            snprintf(lag, sizeof lag, "%.1f", lag_s(row, status->now_ms));
        buf_printf(&cells, "%d\t%s\t%" PRId64 "\t%s\t%s\t%" PRId64 "\t%" PRId64 "\n", row->shard,
                   row->owner[0] ? row->owner : "-", row->epoch, held >= 0 ? format_span(held).s : "-", lag,
                   row->planned, row->open_before);
    }
    put_columns(&cells, out);
    buf_fini(&cells);
    if ((int64_t)status->count < status->shards)
        buf_printf(out, "%d of the %d shards of the cluster have no row: the next node that starts creates them.\n",
                   status->shards - (int)status->count, status->shards);
    if (status->wish.shards)
        buf_printf(out, "A change from %d to %d shards is in progress, try %d of %d.\n", status->shards,
                   status->wish.shards, status->wish.tries, RESHARD_TRIES);
}

void ctl_write_shards(const struct cluster_status *status, bool json, struct buf *out)
{
    if (json)
        write_shards_json(status, out);
    else if (!status->shards)
        buf_puts(out, "No node has used this database yet: there are no shards.\n");
    else
        write_shards_text(status, out);
}

/* ---- nodes ------------------------------------------------------------------------------------------------------- */

static double beat_age_s(const struct node_row *node, int64_t now_ms)
{
    return (double)(now_ms - node->beat_ms) / 1000.0;
}

static void write_nodes_json(const struct node_row *nodes, size_t count, int64_t now_ms, struct buf *out)
{
    buf_puts(out, "[");
    for (size_t i = 0; i < count; i++) {
        const struct node_row *node = &nodes[i];

        buf_puts(out, i ? ",\n{" : "\n{");
        member_text(out, "node", node->node);
        member_text(out, "url", node->url);
        member_text(out, "incarnation", node->incarnation);
        member_text(out, "version", node->version);
        member_text(out, "state", node_get_state(node, now_ms));
        member_int(out, "owned", node->owned);
        member_bool(out, "drain", node->drain);
        member_int(out, "upSeconds", node_get_up_ms(node, now_ms) / 1000);
        buf_printf(member_name(out, "beatAgoSeconds"), "%.1f", beat_age_s(node, now_ms));
        member_int(out, "clockAheadMs", node->clock_ms);
        buf_putc(out, '}');
    }
    buf_puts(out, count ? "\n]\n" : "]\n");
}

void ctl_write_nodes(const struct node_row *nodes, size_t count, int64_t now_ms, bool json, struct buf *out)
{
    struct buf cells = {0};

    if (json) {
        write_nodes_json(nodes, count, now_ms, out);
        return;
    }
    if (!count) {
        buf_puts(out, "No node uses this database.\n");
        return;
    }
    buf_puts(&cells, "NODE\tSTATE\tOWNED\tUP\tLAST_BEAT\tCLOCK_MS\tVERSION\tINCARNATION\tURL\n");
    for (size_t i = 0; i < count; i++)
        buf_printf(&cells, "%s\t%s\t%d\t%s\t%.1fs\t%+" PRId64 "\t%s\t%s\t%s\n", nodes[i].node,
                   node_get_state(&nodes[i], now_ms), nodes[i].owned, format_span(node_get_up_ms(&nodes[i], now_ms)).s,
                   beat_age_s(&nodes[i], now_ms), nodes[i].clock_ms, nodes[i].version, nodes[i].incarnation,
                   nodes[i].url);
    put_columns(&cells, out);
    buf_fini(&cells);
}
