/* SPDX-License-Identifier: MIT */
/*
 * admin/hooks: webhooks that are told of events, and what was sent to them. See shardwheel/admin.h for threads,
 * ownership and refusals. Right for all: ADMINISTER.
 */
#ifndef SHARDWHEEL_ADMIN_HOOKS_H
#define SHARDWHEEL_ADMIN_HOOKS_H

#include "shardwheel/admin.h"
#include "shardwheel/events.h"

#define HOOK_HOST_MAX 256
/* Of a URL scheme and host alone: what follows is a secret. */
void hook_write_host(char out[HOOK_HOST_MAX], const char *url);

MUST_CHECK enum err admin_load_hooks(struct admin *a, const struct actor *actor, struct hook_rows *out,
                                     struct refusal *r);
/* Adds one (id 0), or changes the one with that id; counts on all nodes within seconds. What is NULL, or -1 of kinds,
 * only_failed and enabled, stays as it is, or has its default. REFUSED_OFF: shardwheel.alarm.console-channels is off.
 * REFUSED_TAKEN `name`, REFUSED_INVALID with `name`, `url`, `kinds`; REFUSED_LIMIT, REFUSED_UNKNOWN. */
MUST_CHECK enum err admin_put_hook(struct admin *a, const struct actor *actor, const struct hook_row *given,
                                   int64_t *added, struct refusal *r);
MUST_CHECK enum err admin_remove_hook(struct admin *a, const struct actor *actor, int64_t id, struct refusal *r);
/* Sends an event of test at once and waits for the receiver, EVENTS_TIMEOUT_MS at most. `why` is empty when it was
 * taken. */
MUST_CHECK enum err admin_test_hook(struct admin *a, const struct actor *actor, int64_t id, int *status,
                                    struct errctx *why, struct refusal *r);

MUST_CHECK enum err admin_load_deliveries(struct admin *a, const struct actor *actor,
                                          const struct delivery_filter *filter, int64_t before_id, size_t limit,
                                          struct deliveries *out, struct refusal *r);
/* One, with what is sent of it. REFUSED_UNKNOWN "id", as the next. */
MUST_CHECK enum err admin_load_delivery(struct admin *a, const struct actor *actor, int64_t id, struct deliveries *out,
                                        struct buf *body, struct refusal *r);
MUST_CHECK enum err admin_resend_delivery(struct admin *a, const struct actor *actor, int64_t id, struct refusal *r);

#endif
