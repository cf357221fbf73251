/* SPDX-License-Identifier: MIT */
/*
 * stranger_groups: which rows of the stranger's database belong to whom, so that one can tell whether a caller gets
 * what is not his. There are two groups in that world: 1, and all others. Jobs, runs and what has their ids belong to
 * group 1 where the id is odd. A statement that asks for ids or groups gets rows of those alone, one that does not gets
 * both.
 * Private to stranger_db.h.
 */
#ifndef SHARDWHEEL_TESTS_FUZZ_STRANGER_GROUPS_H
#define SHARDWHEEL_TESTS_FUZZ_STRANGER_GROUPS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Stand in texts, and in access tokens of groups, of rows that the caller has no right to see. */
#define STRANGER_SECRET "F0reignW0rd"
#define STRANGER_TOKEN "F0reignT0ken"

enum { GROUPS_OWN = 1, GROUPS_FOREIGN = 2 };

#define GROUPS_ASKED 8
#define GROUPS_LIST 64

/* A condition `name = 5` or `name IN (5, 6)` on what says whose a row is. */
struct groups_asked {
    char name[24]; /* without the table's letter */
    bool of_group; /* else of a job or a run */
    int64_t list[GROUPS_LIST];
    size_t count;
};

struct groups_query {
    char table[40]; /* the first one of ours */
    bool linked;    /* its rows belong to a group */
    struct groups_asked asked[GROUPS_ASKED];
    size_t count;
    int sides; /* GROUPS_ bits that a row may be of */
};

/* 0: nothing has that id. */
static int groups_side(bool of_group, int64_t id)
{
    if (id <= 0)
        return 0;
    return (of_group ? id == 1 : id % 2 != 0) ? GROUPS_OWN : GROUPS_FOREIGN;
}

static bool groups_is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
}

/* The name that ends at `end`, as a condition; NULL when it says nothing of groups. */
static struct groups_asked *groups_note(struct groups_query *q, const char *sql, const char *end)
{
    const char *name = end, *dot;
    bool of_group = false, is_row = false;

    while (name > sql && groups_is_word(name[-1]))
        name--;
    if (name - sql >= 4 && !strncmp(name - 4, " OR ", 4))
        return NULL;
    dot = memchr(name, '.', (size_t)(end - name));
    char alias = dot ? *name : '\0';
    name = dot ? dot + 1 : name;
    size_t len = (size_t)(end - name);
    if (len >= sizeof q->asked[0].name || q->count == GROUPS_ASKED)
        return NULL;
    bool of_rows = strstr(q->table, "xxl_job_info") || !strcmp(q->table, "xxl_job_log");
    if (len == 9 && !strncmp(name, "job_group", len))
        of_group = true;
    else if ((len == 6 && !strncmp(name, "job_id", len)) || (len == 6 && !strncmp(name, "log_id", len)))
        is_row = true;
    else if (len == 2 && !strncmp(name, "id", len))
        of_group = alias == 'g' || (!alias && strstr(q->table, "xxl_job_group")), is_row = !of_group && of_rows;
    if (!of_group && !is_row)
        return NULL;
    struct groups_asked *asked = &q->asked[q->count++];
    *asked = (struct groups_asked){.of_group = of_group};
    memcpy(asked->name, name, len);
    return asked;
}

static void groups_read_list(struct groups_asked *asked, const char *at)
{
    for (char *end; asked->count < GROUPS_LIST; at = end) {
        at += strspn(at, " ,");
        asked->list[asked->count] = strtoll(at, &end, 10);
        if (end == at)
            break;
        asked->count++;
        if (*end != ',')
            break;
    }
}

/* Takes out what stands between quotes: nothing of it is a condition. */
static void groups_unquote(char *sql)
{
    bool quoted = false;

    for (; *sql; sql++) {
        if (*sql == '\'') {
            quoted = !quoted;
        } else if (quoted) {
            if (*sql == '\\' && sql[1])
                *sql++ = ' ';
            *sql = ' ';
        }
    }
}

/* Reads a statement without its texts; of what writes too. */
static void groups_read(const char *sql, struct groups_query *q)
{
    static const char *const linked[] = {"xxl_job_info",     "xxl_job_log",        "xxl_job_group",
                                         "shardwheel_later", "shardwheel_removed", "shardwheel_told",
                                         "shardwheel_alarm", "shardwheel_audit",   "shardwheel_event"};
    const char *at = strstr(sql, "xxl_job_"), *own = strstr(sql, "shardwheel_");

    *q = (struct groups_query){.sides = GROUPS_OWN | GROUPS_FOREIGN};
    at = !at || (own && own < at) ? own : at;
    for (size_t i = 0; at && i + 1 < sizeof q->table && groups_is_word(at[i]); i++)
        q->table[i] = at[i];
    for (size_t i = 0; i < sizeof linked / sizeof *linked; i++)
        q->linked = q->linked || !strncmp(q->table, linked[i], strlen(linked[i]));
    q->linked = q->linked && strcmp(q->table, "xxl_job_log_report") != 0;
    at = strstr(sql, " WHERE ");
    for (; q->linked && at && *at; at++) {
        size_t gap = !strncmp(at, " = ", 3) ? 3 : !strncmp(at, " IN (", 5) ? 5 : 0;
        if (!gap || !(at[gap] == '-' || (at[gap] >= '0' && at[gap] <= '9')))
            continue;
        struct groups_asked *asked = groups_note(q, sql, at);
        if (!asked)
            continue;
        if (gap == 3) {
            asked->list[0] = strtoll(at + gap, NULL, 10);
            asked->count = 1;
        } else {
            groups_read_list(asked, at + gap);
        }
        int sides = 0;
        for (size_t i = 0; i < asked->count; i++)
            sides |= groups_side(asked->of_group, asked->list[i]);
        q->sides &= sides;
    }
}

/* How many rows there can be. */
static size_t groups_count_rows(const struct groups_query *q, size_t wanted)
{
    if (!q->sides)
        return 0;
    for (size_t i = 0; i < q->count; i++) {
        size_t fit = 0;
        for (size_t k = 0; k < q->asked[i].count; k++)
            fit += (groups_side(q->asked[i].of_group, q->asked[i].list[k]) & q->sides) != 0;
        if (!strcmp(q->asked[i].name, "id") && fit < wanted)
            wanted = fit;
    }
    return wanted;
}

/* The number for a column of that name in row `row` (from 0), of that side. */
static int64_t groups_number(const struct groups_query *q, const char *name, size_t len, size_t row, int side,
                             uint64_t drawn)
{
    bool of_group = (len == 9 && !strncmp(name, "job_group", 9)) || (len == 8 && !strncmp(name, "group_id", 8)) ||
                    (len == 2 && strstr(q->table, "xxl_job_group"));

    for (size_t i = 0; i < q->count; i++) {
        const struct groups_asked *asked = &q->asked[i];
        if (strlen(asked->name) != len || strncmp(asked->name, name, len) != 0)
            continue;
        size_t left = row;
        for (int lap = 0; lap < 2; lap++) {
            for (size_t k = 0; k < asked->count; k++)
                if (groups_side(asked->of_group, asked->list[k]) == side && !left--)
                    return asked->list[k];
            left = 0;
        }
    }
    if (of_group)
        return side == GROUPS_OWN ? 1 : 2;
    return (int64_t)(drawn % 8 * 2) + (side == GROUPS_OWN ? 1 : 2);
}

/* Texts that belong to whoever may see the row. */
static bool groups_is_text(const char *name, size_t len)
{
    static const char *const parts[] = {"job_desc",     "author",  "msg",   "param", "glue_source",
                                        "remark",       "address", "email", "title", "executor_handler",
                                        "access_token", "_json",   "reason"};

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (memmem(name, len, parts[i], strlen(parts[i])))
            return true;
    return false;
}

#endif
