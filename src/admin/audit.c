/* SPDX-License-Identifier: MIT */
#include "shardwheel/admin/audit.h"

#include "shardwheel/text.h"

#include <string.h>

#define LEFT_OUT_ROOM 40 /* of a side, for the last member */

void audit_begin(struct audit_diff *d, enum audit_kind kind)
{
    *d = (struct audit_diff){.kind = kind};
    buf_putc(&d->before, '{');
    buf_putc(&d->after, '{');
}

void audit_fini(struct audit_diff *d)
{
    buf_fini(&d->before);
    buf_fini(&d->after);
    buf_fini(&d->value);
}

/* ---- fields ------------------------------------------------------------------------------------------------------ */

/* False: there is no room for it. d->value has the value. */
static bool put_member(struct audit_diff *d, struct buf *side, const char *name)
{
    size_t begun = side->len;

    buf_append(member_name(side, name), d->value.data, d->value.len);
    side->failed |= buf_failed(&d->value);
    if (buf_failed(side) || side->len <= AUDIT_SIDE_MAX - LEFT_OUT_ROOM)
        return true;
    side->len = begun;
    side->data[begun] = '\0';
    return false;
}

typedef void (*put_fn)(struct buf *out, const void *value);

/* A field stands on both sides or on none: before and after are read side by side. */
static void put_field(struct audit_diff *d, const char *name, put_fn put, const void *old, const void *new)
{
    size_t begun = d->before.len;
    bool fits = true;

    d->differing++;
    if (d->kind != AUDIT_ADDED) {
        buf_clear(&d->value);
        put(&d->value, old);
        fits = put_member(d, &d->before, name);
    }
    if (fits && d->kind != AUDIT_REMOVED) {
        buf_clear(&d->value);
        put(&d->value, new);
        fits = put_member(d, &d->after, name);
    }
    if (fits)
        return;
    d->left_out++;
    if (!buf_failed(&d->before)) {
        d->before.len = begun;
        d->before.data[begun] = '\0';
    }
}

static bool says_nothing(const struct audit_diff *d, const char *old, const char *new)
{
    if (d->kind == AUDIT_CHANGED)
        return str_equal(old, new);
    return !(d->kind == AUDIT_ADDED ? new : old);
}

static void put_text(struct buf *out, const void *value)
{
    const char *text = value;
    struct buf cut = {0};

    if (text && strlen(text) > AUDIT_TEXT_MAX) {
        buf_append(&cut, text, utf8_cut(text, strlen(text), AUDIT_TEXT_MAX));
        buf_puts(&cut, "...");
        text = cut.data;
    }
    buf_put_json(out, text);
    out->failed = out->failed || buf_failed(&cut);
    buf_fini(&cut);
}

void audit_text(struct audit_diff *d, const char *name, const char *old, const char *new)
{
    if (!says_nothing(d, old, new))
        put_field(d, name, put_text, old, new);
}

static void put_int(struct buf *out, const void *value)
{
    buf_put_int(out, *(const int64_t *)value);
}

void audit_int(struct audit_diff *d, const char *name, int64_t old, int64_t new)
{
    if (d->kind != AUDIT_CHANGED || old != new)
        put_field(d, name, put_int, &old, &new);
}

static void put_bool(struct buf *out, const void *value)
{
    buf_puts(out, *(const bool *)value ? "true" : "false");
}

void audit_bool(struct audit_diff *d, const char *name, bool old, bool new)
{
    if (d->kind != AUDIT_CHANGED || old != new)
        put_field(d, name, put_bool, &old, &new);
}

static void put_source(struct buf *out, const void *value)
{
    char hash[65];

    if (!value) {
        buf_puts(out, "null");
        return;
    }
    sha256_hex(value, hash);
    buf_printf(out, "{\"length\":%zu,\"sha256\":\"%s\"}", strlen(value), hash);
}

void audit_source(struct audit_diff *d, const char *name, const char *old, const char *new)
{
    if (!says_nothing(d, old, new))
        put_field(d, name, put_source, old, new);
}

void audit_secret(struct audit_diff *d, const char *name, bool changed)
{
    if (changed)
        put_field(d, name, put_text, "set", d->kind == AUDIT_ADDED ? "set" : "changed");
}

bool audit_differs(const struct audit_diff *d)
{
    return d->differing > 0;
}

/* ---- the row ----------------------------------------------------------------------------------------------------- */

static void end_side(struct audit_diff *d, struct buf *side)
{
    if (d->left_out > 0)
        member_int(side, "fieldsLeftOut", d->left_out);
    member_object_end(side);
}

struct audit_row audit_bare(enum audit_kind kind, const struct actor *actor, const char *action, int64_t target,
                            const char *target_name, int64_t job_group)
{
    return (struct audit_row){.user_id = actor->user_id,
                              .who = actor->name,
                              .address = actor->address,
                              .via = actor->via,
                              .action = action,
                              .target = target,
                              .target_name = target_name,
                              .job_group = job_group,
                              .before = kind == AUDIT_ADDED ? NULL : "{}",
                              .after = kind == AUDIT_REMOVED ? NULL : "{}"};
}

struct audit_row *audit_end(struct audit_diff *d, const struct actor *actor, const char *action, int64_t target,
                            const char *target_name, int64_t job_group)
{
    end_side(d, &d->before);
    end_side(d, &d->after);
    d->row = audit_bare(d->kind, actor, action, target, target_name, job_group);
    d->row.failed = buf_failed(&d->before) || buf_failed(&d->after) || buf_failed(&d->value);
    if (d->row.before)
        d->row.before = d->row.failed ? NULL : d->before.data;
    if (d->row.after)
        d->row.after = d->row.failed ? NULL : d->after.data;
    return &d->row;
}
