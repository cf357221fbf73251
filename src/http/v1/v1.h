/* SPDX-License-Identifier: MIT */
/*
 * v1: api/v1, the JSON API of our own. A topic is a file with its rows and the functions that answer them. How they
 * read is in v1/read.h, how they write in v1/write.h.
 *
 * A function  reads all that it takes (reading goes on after the first fault, which is kept), asks v1_is_refused once,
 *             then calls its use case and writes what came of it:
 *                 int64_t id = v1_path_id(c, 0);
 *                 if (V1_FAILS(c, admin_load_thing, id, &thing))
 *                     return;
 *                 put_thing(&c->r->body, &thing);
 * Braces      Every answer is an object. Its braces are there already: functions write members, both those that answer
 *             and those that put a thing, whose braces come from where it stands (V1_PUT_LIST, member_object).
 * Rights      A row says whether its caller must be known; what he may is the use case's to check.
 * To add      an endpoint: a row, and its piece of src/http/v1/openapi/TOPIC.json, which a test compares with the rows.
 *             A topic: a file with `const struct v1_topic v1_TOPIC`, a line in V1_TOPICS.
 * Threads     A call is one worker's.
 * Ownership   Texts and lists that were read live until the call's end.
 */
#ifndef HTTP_V1_V1_H
#define HTTP_V1_V1_H

#include "http/json.h"
#include "http/router.h"
#include "shardwheel/admin/login.h"

#define V1_BELOW "/api/v1"
#define V1_BODY_MAX (1 << 20)
#define V1_APP_NAME_MAX 64 /* characters, as the next */
#define V1_TAG_MAX 100
#define V1_ASKED_MAX 64 /* names that one call asks a query or an object for */

/* ---- rows -------------------------------------------------------------------------------------------------------- */

struct v1_call;

enum v1_body {
    V1_NO_BODY,   /* an empty one, or {} */
    V1_JSON_BODY, /* an object */
    V1_MAY_BODY,  /* an object, or nothing */
};

struct v1_route {
    struct route route; /* first: see V1_ROUTE */
    enum v1_body body;
    size_t max_body; /* 0: V1_BODY_MAX */
    void (*answer)(struct v1_call *c);
};

/* {V1_ROUTE(ROUTE_POST, "/jobs/{id}/start", ROUTE_LOGIN), V1_NO_BODY, 0, answer_start} */
#define V1_ROUTE(methods, path, right)                                                                                 \
    {                                                                                                                  \
        methods, V1_BELOW path, HTTP_LANE_CONSOLE, right, v1_answer                                                    \
    }

struct v1_topic {
    const struct v1_route *routes;
    size_t count;
};

/* The topics, in the order of the document. Each has src/http/v1/TOPIC.c and openapi/TOPIC.json. */
#define V1_TOPICS(X)                                                                                                   \
    X(meta)                                                                                                            \
    X(jobs)                                                                                                            \
    X(batch)                                                                                                           \
    X(transfer)                                                                                                        \
    X(groups)                                                                                                          \
    X(figures)                                                                                                         \
    X(overview)                                                                                                        \
    X(cluster)                                                                                                         \
    X(settings)                                                                                                        \
    X(alarms)                                                                                                          \
    X(watch)                                                                                                           \
    X(hooks)                                                                                                           \
    X(session)                                                                                                         \
    X(users)                                                                                                           \
    X(tokens)                                                                                                          \
    X(views)                                                                                                           \
    X(runs)                                                                                                            \
    X(glue)                                                                                                            \
    X(history)                                                                                                         \
    X(timeline)                                                                                                        \
    X(flows)                                                                                                           \
    X(flow_runs)

#define V1_DECLARE_TOPIC(name)                                                                                         \
    extern const struct v1_topic v1_##name; /* TOPIC.c */                                                              \
    extern const char v1_document_##name[]; /* openapi/TOPIC.json */
V1_TOPICS(V1_DECLARE_TOPIC)
#undef V1_DECLARE_TOPIC

/* The rows of all topics, one after the other; NULL behind the last. */
const struct v1_route *v1_get_route(size_t i);
void v1_answer(const struct route_call *call, struct http_response *r);
/* Appends the OpenAPI document, whose server is at the context of the request. */
void v1_put_document(struct buf *out, const struct route_call *call);
extern const struct route_table v1_routes; /* routes.c */

/* ---- calls ------------------------------------------------------------------------------------------------------- */

/* Names that were asked for, so that what nobody asked for can be refused. */
struct v1_asked {
    const char *names[V1_ASKED_MAX];
    size_t count;
};

struct v1_object {
    struct v1_call *c;
    struct json_value value; /* absent, or of kind JSON_OBJECT */
    struct v1_asked asked;
};

struct v1_memory; /* read.c */

struct v1_call {
    const struct route_call *call;
    const struct v1_route *route;
    struct admin *admin;
    const struct identity *who; /* with how the caller proved it; NULL as the next */
    const struct actor *actor;  /* NULL: the row is anybody's, and nobody was looked for */
    struct http_response *r;    /* of type application/json; 200; the body is an object that goes on */
    struct form query;
    struct v1_asked asked; /* of the query */
    struct v1_object body;
    struct refusal why; /* the first fault; what use cases are handed to fill in */
    bool answered;      /* a problem stands in the answer; members may follow */
    bool ended;         /* nothing may follow: the body is as it goes out */
    struct v1_memory *memory;
};

/* What was read is refused: for a fault, a query parameter or a member of the body that was not asked for, or a token
 * without the right of the row. True: the answer is written. */
bool v1_is_refused(struct v1_call *c);
/* The same for what a use case returned, with its refusal in c->why. */
bool v1_has_failed(struct v1_call *c, enum err e);
/* Both, where nothing comes between reading and the use case: V1_FAILS(c, admin_load_thing, id, &thing) calls
 * admin_load_thing(c->admin, c->actor, id, &thing, &c->why). */
#define V1_FAILS(c, use_case, ...) V1_FAILS_FOR(c, actor, use_case, __VA_ARGS__)
/* The same with c->actor or c->who, as the use case has it. */
#define V1_FAILS_FOR(c, whom, use_case, ...)                                                                           \
    (v1_is_refused(c) || v1_has_failed(c, use_case((c)->admin, (c)->whom, __VA_ARGS__, &(c)->why)))
/* A problem document of c->why with the status that goes with its kind. */
void v1_write_refusal(struct v1_call *c);
/* The first fault of reading stands: false when there is one already. See refusal_kind. `field` lives until the call's
 * end. */
bool v1_note(struct v1_call *c, enum refusal_kind kind, const char *field, const char *fmt, ...) PRINTF_LIKE(4, 5);

/* 201 with Location: V1_BELOW "/jobs/" and the id, below the context of the request. */
void v1_set_created(struct v1_call *c, const char *path, int64_t id);
void v1_set_no_content(struct v1_call *c); /* 204 */
void v1_end_answer(struct v1_call *c);     /* ends the object of the answer, where that was not done before */
void v1_take_answer(struct v1_call *c);    /* makes the body empty: the caller writes all of it */
/* The function of a row that asks a use case for no more than the id in its path. */
#define V1_ID_ANSWER(function, use_case) V1_ID_ANSWER_FOR(function, actor, use_case)
#define V1_ID_ANSWER_FOR(function, whom, use_case)                                                                     \
    static void function(struct v1_call *c)                                                                            \
    {                                                                                                                  \
        int64_t id = v1_path_id(c, 0);                                                                                 \
        if (!V1_FAILS_FOR(c, whom, use_case, id))                                                                      \
            v1_set_no_content(c);                                                                                      \
    }
/* Appends the context of the request: "" or "/xxl-job-admin". */
void v1_put_context(struct buf *out, const struct route_call *call);

/* ---- problems ---------------------------------------------------------------------------------------------------- */

/* `kind` is a name of refusal_name, or "login", "method", "media-type". */
void v1_write_problem(struct v1_call *c, int status, const char *kind, const char *field, const char *detail);
/* The same as a whole, for those who have no call. */
void v1_write_whole_problem(struct http_response *r, int status, const char *kind, const char *detail);
/* The status of a refusal: `route` tells whether its field stands in the path; `conditional`: If-Match was sent. */
int v1_get_status(const struct refusal *why, const char *pattern, bool conditional);

/* ---- ETag -------------------------------------------------------------------------------------------------------- */

/* The tag of a representation: its digest in quotes. */
struct v1_etag {
    char text[20];
};
struct v1_etag v1_make_etag(const char *bytes, size_t len);
/* Ends the answer and tags it by its body; where If-None-Match has the tag it becomes 304. For what one GET gives
 * whole. */
void v1_tag_answer(struct v1_call *c);
/* The same by other bytes: those of the answer that only people change. */
void v1_tag_answer_by(struct v1_call *c, const struct buf *representation);
/* Pure: the tag is in the list ("*" is every tag; W/ does not matter here). */
bool v1_etag_is_in(const char *list, const char *tag);
/* False: If-Match was sent and `representation`, as GET would give it now, is another. Frees it in any case. */
bool v1_matches(struct v1_call *c, struct buf *representation, struct refusal *r);
bool v1_still_matches(struct v1_call *c, struct buf *representation); /* the same; the refusal is written */

#endif
