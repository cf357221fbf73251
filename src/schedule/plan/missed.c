/* SPDX-License-Identifier: MIT */
/* What jobs missed up to a second, and how they go on behind it. */
#include "schedule/plan/occurrences.h"
#include "shardwheel/schedule.h"

#include <stdlib.h>
#include <string.h>

#define BUDGET_ROUNDS 1000 /* of occurrences_begin: some 20 s of searches in all */
#define MEMOS 256          /* jobs of one text are usually due together, and counting costs more than comparing */

struct memo {
    char *conf, *zone; /* NULL: the place is empty; zone "": that of the cluster */
    int64_t due_ms, at_ms;
    struct occurrences_count count;
};

struct missed {
    struct occurrences *occurrences;
    struct memo memos[MEMOS];
    int rounds; /* of counting that are left */
};

enum err missed_create(const struct zone *zone, int64_t max_year, struct missed **out, struct errctx *ec)
{
    struct missed *m = calloc(1, sizeof *m);
    enum err e =
        m ? occurrences_create(zone, max_year, &m->occurrences, ec) : err_set(ec, ERR_NOMEM, "missed: out of memory");

    if (e) {
        free(m);
        return e;
    }
    m->rounds = BUDGET_ROUNDS;
    *out = m;
    return ERR_OK;
}

static void forget(struct memo *memo)
{
    free(memo->conf);
    free(memo->zone);
    *memo = (struct memo){0};
}

void missed_destroy(struct missed *m)
{
    if (!m)
        return;
    for (size_t i = 0; i < MEMOS; i++)
        forget(&m->memos[i]);
    occurrences_destroy(m->occurrences);
    free(m);
}

/* The rounds of all jobs together are bounded: beyond them counts say "at least". */
static struct occurrences_count count(struct missed *m, const struct job_due *job, int64_t due_ms, int64_t at_ms)
{
    struct occurrences_count all = occurrences_count(m->occurrences, job, due_ms, at_ms);

    while (all.more && m->rounds > 0) {
        struct occurrences_count next;

        m->rounds--;
        occurrences_begin(m->occurrences);
        next = occurrences_count(m->occurrences, job, all.last_ms, at_ms);
        all.count += next.count;
        all.last_ms = next.last_ms;
        all.more = next.more;
    }
    return all;
}

static struct occurrences_count count_once(struct missed *m, const struct job_due *job, int64_t due_ms, int64_t at_ms)
{
    const char *zone = job->time_zone ? job->time_zone : "";
    uint32_t hash = hash_text(hash_text(HASH_START, job->schedule_conf), zone);
    struct memo *memo = &m->memos[(hash ^ (uint32_t)(due_ms / 1000)) % MEMOS];

    if (strcmp(job->schedule_type, "CRON") != 0 || job->valid_until_s)
        return count(m, job, due_ms, at_ms);
    if (memo->conf && memo->due_ms == due_ms && memo->at_ms == at_ms && !strcmp(memo->conf, job->schedule_conf) &&
        !strcmp(memo->zone, zone))
        return memo->count;
    forget(memo);
    memo->conf = str_copy(job->schedule_conf);
    memo->zone = str_copy(zone);
    memo->due_ms = due_ms;
    memo->at_ms = at_ms;
    memo->count = count(m, job, due_ms, at_ms);
    if (!memo->conf || !memo->zone) {
        struct occurrences_count found = memo->count;

        forget(memo);
        return found;
    }
    return memo->count;
}

enum err missed_find(struct missed *m, const struct job_due *job, int64_t at_s, struct skipped *skipped,
                     int64_t *next_ms, bool *stop, struct errctx *ec)
{
    int64_t at_ms = at_s * 1000 + 999, due_ms = job->next_ms;
    char why[WHY_MAX] = "";
    enum err e = ERR_OK;

    *skipped = (struct skipped){0};
    *stop = false;
    if (due_ms > 0 && due_ms < job->valid_from_s * 1000)
        e = occurrences_skip_to(m->occurrences, job, due_ms, job->valid_from_s * 1000 - 1, &due_ms, why);
    if (!e && due_ms > 0 && due_ms <= at_ms && (!job->valid_until_s || due_ms < job->valid_until_s * 1000)) {
        struct occurrences_count later = count_once(m, job, due_ms, at_ms);

        *skipped = (struct skipped){.count = later.count + 1,
                                    .more = later.more || occurrences_is_delayed(job),
                                    .first_s = due_ms / 1000,
                                    .last_s = later.last_ms / 1000};
    }
    if (!e && due_ms > at_ms)
        *next_ms = due_ms;
    else if (!e && due_ms > 0)
        e = occurrences_skip_to(m->occurrences, job, due_ms, at_ms, next_ms, why);
    else if (!e)
        e = occurrences_next(m->occurrences, job, at_ms, next_ms, why);
    if (e == ERR_NOMEM)
        return err_set(ec, e, "missed: out of memory");
    *stop = e != ERR_OK;
    return ERR_OK;
}
