/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target for documents of alarms: rules and channels as api/v1 takes them, down to the statements. Bytes 0 to 7:
 * http_world.h; byte 8: which call; the rest is its body, and behind a NUL another body, of the next call.
 *
 * Oracle      What is written for a rule is one of its kind: bound, tag and group as docs/alarms.md has them, read here
 *             from the statement. What is written for a channel has a name, a kind of webhook, a URL without blanks. An
 *             answer of success has its statement, and only an administrator has one. And as http_handlers.
 * Run: tools/fuzz alarm_documents
 */
#include "http_world.h"
#include "http_rights.h"

#include "http/json.h"
#include "shardwheel/store/watch.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct {
    const char *method, *path;
} calls[] = {
    {"POST", "/api/v1/alarms/rules"},          {"PATCH", "/api/v1/alarms/rules/7"},
    {"POST", "/api/v1/alarms/channels"},       {"PATCH", "/api/v1/alarms/channels/7"},
    {"PATCH", "/api/v1/alarms/rules/1"},       {"PATCH", "/api/v1/alarms/channels/1"},
    {"DELETE", "/api/v1/alarms/rules/1"},      {"DELETE", "/api/v1/alarms/channels/1"},
    {"GET", "/api/v1/alarms/rules"},           {"GET", "/api/v1/alarms/open"},
    {"POST", "/api/v1/alarms/test?channel=x"}, {"GET", "/api/v1/alarms/channels"},
};

static char changed[100000]; /* the last statement that changed a rule or a channel; "": none */

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    world_begin();
    return 0;
}

/* ---- what must hold ---------------------------------------------------------------------------------------------- */

static const struct http_request *asked;

static void require(bool holds, const char *why)
{
    if (holds)
        return;
    fprintf(stderr, "%s %s as %d: %s: %.3000s\n  %.3000s\n", asked->method, asked->path, (int)world_who, why, changed,
            asked->body);
    abort();
}

static void watch(const char *sql)
{
    const char *table = rights_find_table(sql);

    rights_watch(sql);
    if (table && (rights_is_table(table, "shardwheel_rule") || rights_is_table(table, "shardwheel_channel")))
        snprintf(changed, sizeof changed, "%s", sql);
}

/* The text that the statement sets the column to, as MySQL reads it. */
static char *read_text(const char *column)
{
    char wanted[40];
    struct buf out = {0};

    snprintf(wanted, sizeof wanted, "%s = '", column);
    const char *at = strstr(changed, wanted);
    require(at != NULL, column);
    buf_append(&out, "", 0);
    for (at += strlen(wanted); *at && (*at != '\'' || at[1] == '\''); at++) {
        at += *at == '\'' || (*at == '\\' && at[1]);
        buf_putc(&out, *at);
    }
    return buf_take(&out);
}

static size_t count_characters(const char *text)
{
    size_t n = 0;

    for (; *text; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

static void check_rule(void)
{
    static const struct {
        const char *kind;
        int64_t least, most;
        bool of_jobs, has_group;
    } kinds[] = {
        {"no_success", 60, 366 * 86400, true, true}, {"long_run", 0, 30 * 86400, true, true},
        {"not_done", 0, 24 * 60 - 1, true, true},    {"few_executors", 1, 10000, false, true},
        {"late_shard", 1, 86400, false, false},
    };
    char *kind = read_text("kind"), *tag = read_text("tag"), *app = read_text("app_name");
    const char *bound = strstr(changed, "bound = ");
    bool found = false;

    require(bound != NULL, "a rule without a bound");
    int64_t number = strtoll(bound + strlen("bound = "), NULL, 10);
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        if (strcmp(kind, kinds[i].kind) != 0)
            continue;
        found = true;
        require(number >= kinds[i].least && number <= kinds[i].most, "a bound that is none");
        require(strcmp(kind, "long_run") != 0 || number == 0 || number >= 60, "a bound that is none");
        require(!*tag || kinds[i].of_jobs, "a tag of what is no job");
        require(!*app || kinds[i].has_group, "a group of all shards");
    }
    require(found, "a kind that is none");
    require(!strchr(tag, ','), "two tags");
    if (stranger.rows == STRANGER_NONE || !strncmp(changed, "INSERT", 6))
        require(count_characters(tag) <= 100 && count_characters(app) <= 64, "a text that is too long");
    free(kind);
    free(tag);
    free(app);
}

static void check_channel(void)
{
    char *name = read_text("name"), *kind = read_text("kind"), *target = read_text("target");
    const char *const *kinds = alarm_webhook_kinds();
    bool found = false;

    for (size_t i = 0; kinds[i]; i++)
        found = found || !strcmp(kind, kinds[i]);
    require(found, "a kind that is none");
    require(*name && !strncasecmp(target, "http", 4) && strstr(target, "://"), "a target that is none");
    for (const char *c = target; *c; c++)
        require((unsigned char)*c > ' ' && *c != 0x7f, "a target with a blank");
    free(name);
    free(kind);
    free(target);
}

static void check_answer(struct http_response *r)
{
    bool stranger_at_fault = stranger.failed || stranger.rows > STRANGER_ONE;
    bool changes = strcmp(asked->method, "GET") && !strstr(asked->path, "/test");
    struct json_value root;
    struct errctx ec;

    require(r->status >= 200 && r->status <= 599 && (r->status != 500 || stranger_at_fault), "a status that is none");
    if (r->body.len && !buf_failed(&r->body))
        require(!json_check(r->body.data, r->body.len, &root, &ec), "an answer that is no JSON");
    if (changes && r->status < 300)
        require(changed[0] != '\0', "success without a statement");
    require(changes || !changed[0], "a change by who only looks");
    if (changed[0])
        require(world_who == WHO_ADMIN || world_who == WHO_REAL, "a change by who may not");
    if (changed[0] && strncmp(changed, "DELETE", 6) != 0) {
        require((strncmp(changed, "INSERT", 6) == 0) == !strcmp(asked->method, "POST"), "another change");
        if (strstr(changed, " shardwheel_rule "))
            check_rule();
        else
            check_channel();
    }
    rights_check(asked, r);
}

/* ---- the call ---------------------------------------------------------------------------------------------------- */

static const char *get_header(const void *connection, const char *name)
{
    static const char *const headers[][2] = {
        {"Host", "x"},
        {"Content-Type", "application/json"},
        {"Cookie", "xxl_job_login_token="
                   "eyJ1c2VySWQiOiAiMSIsICJleHBpcmVUaW1lIjogMCwgInNpZ25hdHVyZSI6ICIwMTIzNDU2Nzg5YWJjZGVmMDEyMzQ1Njc4"
                   "OWFiY2RlZiJ9"}};

    (void)connection;
    for (size_t i = 0; i < ARRAY_LEN(headers); i++)
        if (!strcasecmp(name, headers[i][0]))
            return headers[i][1];
    return NULL;
}

static const char *get_next_header(const char *value, const char *name)
{
    (void)value, (void)name;
    return NULL;
}

static void ask(struct http *h, unsigned call, const char *body, size_t len)
{
    struct http_room room = {.max = 4u << 20};
    struct http_response r = {.status = 500, .content_type = "application/json"};
    char path[100], *query;
    struct http_request q = {.method = calls[call].method,
                             .path = path,
                             .query = "",
                             .body = "",
                             .max_body = h->opts.max_body,
                             .room = &room,
                             .trusted = h->trusted,
                             .get_header = get_header,
                             .get_next_header = get_next_header};

    snprintf(path, sizeof path, "%s", calls[call].path);
    if ((query = strchr(path, '?'))) {
        *query = '\0';
        q.query = query + 1;
    }
    (void)!ip_parse("10.1.2.3", &q.peer);
    asked = &q;
    changed[0] = '\0';
    enum http_lane lane = http_admit(h, &q, &q.max_body, &r);
    if (lane != HTTP_LANE_REFUSED) {
        response_fini(&r);
        r = (struct http_response){.status = 500, .content_type = "application/json"};
        q.body = body;
        q.body_len = len;
        http_handle(h, &q, &r);
    }
    check_answer(&r);
    response_fini(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < WORLD_BYTES + 1 || rights_has_word(data, size))
        return 0;
    struct http *h = world_choose(data);
    rights_begin();
    stranger.watch = watch;
    size_t left = size - WORLD_BYTES - 1;
    char *text = malloc(left + 1);
    memcpy(text, data + WORLD_BYTES + 1, left);
    text[left] = '\0';
    unsigned call = data[WORLD_BYTES];
    const char *at = text;

    for (int i = 0; i < 4 && at <= text + left; i++, call = call * 5 + 1) {
        size_t len = strlen(at);
        char *body = strdup(at);
        ask(h, call % ARRAY_LEN(calls), body, len);
        free(body);
        at += len + 1;
    }
    free(text);
    return 0;
}
