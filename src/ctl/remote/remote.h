/* SPDX-License-Identifier: MIT */
/*
 * remote: commands that need no database: they call api/v1 of a node, with a token (shardwheel.ctl.url and .token).
 *
 * Threads     The main thread alone.
 * Units       Times are printed as api/v1 has them, in UTC.
 */
#ifndef CTL_REMOTE_H
#define CTL_REMOTE_H

#include "ctl/parts.h"

#include <json-c/json.h>

#define REMOTE_DOCUMENT_MAX (4 << 20) /* as api/v1 takes it */
#define CTL_STATUS_DRIFT 2            /* of apply --dry-run: the cluster differs from the document */

struct remote;

/* ERR_INPUT: there is no token, or the URL cannot be one. Nothing is called yet. */
MUST_CHECK enum err remote_create(const struct config *config, struct remote **out, struct errctx *ec);
void remote_destroy(struct remote *r); /* NULL is fine */
/* Calls "/api/v1" and `path`; body NULL: none. The answer's body, which may be none, goes into `out`. ERR_LOST: no node
 * answers there; ERR_STATE: it refuses, with its sentence; ERR_NOTFOUND likewise. */
MUST_CHECK enum err remote_ask(struct remote *r, const char *method, const char *path, const char *body,
                               struct buf *out, struct errctx *ec);
/* The same for an answer that is JSON; the caller gives it back with json_object_put. */
MUST_CHECK enum err remote_ask_json(struct remote *r, const char *method, const char *path, const char *body,
                                    struct json_object **out, struct errctx *ec);

/* NULL: there is none, or it is null. */
struct json_object *remote_find(struct json_object *object, const char *name);
const char *remote_text(struct json_object *object, const char *name); /* "" for what remote_find has not */
size_t remote_count(struct json_object *list);                         /* 0 of what is no array */
/* "&name=value", escaped, or with "?" where the path has no parameter yet; nothing for a value that is NULL. */
void remote_put_parameter(struct buf *path, const char *name, const char *value);
/* A table's cell; "-" for an empty text. Of a time only its seconds, with the Z. */
void remote_put_cell(struct buf *out, const char *text);
void remote_put_time(struct buf *out, const char *instant);
/* Printed as it came, with a line end. */
void remote_put_json(struct buf *out, struct json_object *object);
/* What the page of a list holds, into c->out: as JSON, or as a table. */
void remote_put_list(struct ctl *c, struct json_object *page, const char *head,
                     void (*put_item)(struct buf *lines, struct json_object *item));

/* The id of the group with this AppName, as text for a parameter; ERR_NOTFOUND. */
MUST_CHECK enum err remote_find_group(struct remote *r, const char *appname, char out[24], struct errctx *ec);
/* The id of the one job that is meant: by its id, its name, or AppName/name. ERR_NOTFOUND: none, or several. */
MUST_CHECK enum err remote_find_job(struct remote *r, const char *wanted, int64_t *out, struct errctx *ec);

MUST_CHECK enum err remote_list_jobs(struct ctl *c, struct remote *r, struct errctx *ec);
MUST_CHECK enum err remote_list_runs(struct ctl *c, struct remote *r, struct errctx *ec);
MUST_CHECK enum err remote_switch_job(struct ctl *c, struct remote *r, struct errctx *ec); /* start, stop */
MUST_CHECK enum err remote_export(struct ctl *c, struct remote *r, struct errctx *ec);
MUST_CHECK enum err remote_apply(struct ctl *c, struct remote *r, struct errctx *ec);
MUST_CHECK enum err remote_list_rules(struct ctl *c, struct remote *r, struct errctx *ec); /* of alarms, as below */
MUST_CHECK enum err remote_set_rule(struct ctl *c, struct remote *r, struct errctx *ec);
MUST_CHECK enum err remote_delete_rule(struct ctl *c, struct remote *r, struct errctx *ec);

#endif
