/* SPDX-License-Identifier: MIT */
/*
 * http_rights: what a caller may not see or change he does not. Include it behind http_world.h.
 *
 * Oracle      Statements: one that changes a table of `rights_tables` is there only for those whom the table names; and
 *             where rows belong to a group (stranger_groups.h), who has rights on group 1 alone changes no others.
 *             His own password and tokens, and what the executor API does by its access token, are his to change.
 *             Answers: with rows of two groups, texts of those that the caller may not see are a secret word, which no
 *             answer holds.
 * Not seen    What is decided without a row: whether an id is there, counts, names of apps.
 */
#ifndef SHARDWHEEL_TESTS_FUZZ_HTTP_RIGHTS_H
#define SHARDWHEEL_TESTS_FUZZ_HTTP_RIGHTS_H

#define BY_USER (1u << WHO_USER)
#define BY_RUNNER (1u << WHO_RUNNER)
#define BY_ADMIN (1u << WHO_ADMIN | 1u << WHO_REAL) /* the second is whoever the rows say */

/* Tables that not everybody changes by asking; admins change all. */
static const struct {
    const char *name;
    unsigned who;
} rights_tables[] = {
    {"xxl_job_info", BY_USER},
    {"xxl_job_logglue", BY_USER},
    {"xxl_job_log", BY_USER | BY_RUNNER},
    {"shardwheel_later", BY_USER | BY_RUNNER},
    {"shardwheel_job", BY_USER},
    {"shardwheel_removed", BY_USER},
    {"shardwheel_alarm", BY_USER},
    {"xxl_job_group", 0},
    {"xxl_job_user", 0},
    {"xxl_job_registry", 0},
    {"xxl_job_log_report", 0},
    {"shardwheel_role", 0},
    {"shardwheel_token", 0},
    {"shardwheel_channel", 0},
    {"shardwheel_rule", 0},
    {"shardwheel_outside", 0},
    {"shardwheel_told", 0},
    {"shardwheel_cluster", 0},
    {"shardwheel_shard", 0},
    {"shardwheel_reshard", 0},
};

/* What every caller with a login is shown of groups that he has no right on, as the original does. */
static const char *const rights_shown[] = {
    "/jobgroup/loadById", /* addresses; never the access token */
};

static char rights_broken[4000]; /* the first statement that should not have been there; "" for none */

/* The table that a statement changes; NULL for none. */
static const char *rights_find_table(const char *sql)
{
    static const char *const begins[] = {"INSERT INTO ",   "INSERT IGNORE INTO ", "UPDATE ",      "DELETE FROM ",
                                         "DELETE l FROM ", "DELETE r FROM ",      "REPLACE INTO "};

    if (!strncmp(sql, "SET STATEMENT ", 14) && strstr(sql, " FOR "))
        sql = strstr(sql, " FOR ") + 5;
    for (size_t i = 0; i < ARRAY_LEN(begins); i++)
        if (!strncmp(sql, begins[i], strlen(begins[i])))
            return sql + strlen(begins[i]);
    return NULL;
}

static bool rights_is_table(const char *at, const char *name)
{
    size_t len = strlen(name);

    return !strncmp(at, name, len) && !groups_is_word(at[len]);
}

/* By the rows of the caller himself. */
static bool rights_is_own(const char *sql, const char *table)
{
    char own[40];

    snprintf(own, sizeof own, " WHERE id = %d", 1 + (int)world_who);
    if (rights_is_table(table, "xxl_job_user"))
        return world_who != WHO_NOBODY && !strncmp(sql, "UPDATE ", 7) && strstr(sql, own);
    snprintf(own, sizeof own, "user_id = %d", 1 + (int)world_who);
    if (rights_is_table(table, "shardwheel_token"))
        return world_who != WHO_NOBODY && (!strncmp(sql, "INSERT", 6) || strstr(sql, own));
    return false;
}

/* The group that a new job gets, by its statement without texts; 0 when it is not there. */
static int64_t rights_find_new_group(const char *sql)
{
    const char *column = strchr(sql, '('), *value = strstr(sql, " VALUES (");
    const char *wanted = strstr(sql, "job_group"), *end;

    if (!column || !value || !wanted || wanted > value)
        return 0;
    value += strlen(" VALUES (");
    for (int depth = 0; column < wanted; column++) {
        if (*column != ',')
            continue;
        for (end = value; *end && (depth || *end != ','); end++)
            depth += (*end == '(') - (*end == ')');
        value = *end ? end + 1 : end;
    }
    return strtoll(value, NULL, 10);
}

/* Of group 1, as far as the statement tells. */
static bool rights_is_of_own_group(const char *sql, const char *table)
{
    const char *set = strstr(sql, "job_group = ");
    struct groups_query query;

    groups_read(sql, &query);
    if (query.count && query.sides & GROUPS_FOREIGN)
        return false;
    if (!rights_is_table(table, "xxl_job_info"))
        return true;
    if (!strncmp(sql, "INSERT", 6))
        return rights_find_new_group(sql) == 1;
    return !set || strtoll(set + strlen("job_group = "), NULL, 10) == 1;
}

static bool rights_may(const char *sql, const char *table)
{
    unsigned who = 1u << world_who;

    if (who & BY_ADMIN || rights_is_own(sql, table))
        return true;
    for (size_t i = 0; i < ARRAY_LEN(rights_tables); i++) {
        if (rights_is_table(table, rights_tables[i].name))
            return rights_tables[i].who & who &&
                   (stranger.rows != STRANGER_GROUPS || rights_is_of_own_group(sql, table));
    }
    return true;
}

static void rights_watch(const char *sql)
{
    char *plain;
    const char *table;

    if (rights_broken[0] || !rights_find_table(sql))
        return;
    plain = strdup(sql);
    groups_unquote(plain);
    table = rights_find_table(plain);
    if (!rights_may(plain, table))
        snprintf(rights_broken, sizeof rights_broken, "%s", sql);
    free(plain);
}

/* The caller says a secret word himself: then an answer may have it from him. */
static bool rights_has_word(const uint8_t *data, size_t size)
{
    return memmem(data, size, STRANGER_SECRET, strlen(STRANGER_SECRET)) ||
           memmem(data, size, STRANGER_TOKEN, strlen(STRANGER_TOKEN));
}

/* Before the first request of a run. */
static void rights_begin(void)
{
    static const int secret[WHO_COUNT] = {[WHO_NOBODY] = GROUPS_OWN | GROUPS_FOREIGN,
                                          [WHO_READER] = GROUPS_FOREIGN,
                                          [WHO_RUNNER] = GROUPS_FOREIGN,
                                          [WHO_USER] = GROUPS_FOREIGN,
                                          [WHO_STRANGE] = GROUPS_OWN | GROUPS_FOREIGN,
                                          [WHO_UNSURE] = GROUPS_OWN | GROUPS_FOREIGN};

    stranger.watch = rights_watch;
    stranger.secret = secret[world_who];
    rights_broken[0] = '\0';
}

/* An application of 3.5 acts as an administrator by its own token (docs/api.md, "Jobs by program"). */
static bool rights_is_by_app(const struct http_request *q)
{
    const char *app = q->get_header(q->connection, "XXL-JOB-APPNAME");
    const char *token = q->get_header(q->connection, "XXL-JOB-ACCESS-TOKEN");

    return strstr(q->path, "/api/") && !strstr(q->path, "/api/v1/") && app && token && !strcmp(app, "own") &&
           !strcmp(token, "own-token");
}

static bool rights_holds(const struct http_response *r, const char *word)
{
    return r->body.len && memmem(r->body.data, r->body.len, word, strlen(word));
}

static void rights_give_up(const struct http_request *q, const char *what, const char *more)
{
    fprintf(stderr, "%s %s?%s as %d %s what is not his: %.3000s\n", q->method, q->path, q->query, (int)world_who, what,
            more);
    abort();
}

static void rights_check(const struct http_request *q, const struct http_response *r)
{
    bool shown = false;

    if (rights_is_by_app(q)) {
        rights_broken[0] = '\0';
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(rights_shown); i++)
        shown = shown || (world_who != WHO_NOBODY && world_who != WHO_UNSURE && strstr(q->path, rights_shown[i]));
    if (rights_broken[0])
        rights_give_up(q, "changes", rights_broken);
    if ((!shown && rights_holds(r, STRANGER_SECRET)) || rights_holds(r, STRANGER_TOKEN))
        rights_give_up(q, "shows", r->body.data);
}

#endif
