/* SPDX-License-Identifier: MIT */
/* flow/impl: what the files of this area share. */
#ifndef FLOW_IMPL_H
#define FLOW_IMPL_H

#include "shardwheel/flow.h"

#include <json-c/json.h>

enum flow_on { FLOW_ON_SUCCESS, FLOW_ON_FAILURE, FLOW_ON_END };

enum flow_operator { FLOW_EQ, FLOW_NE, FLOW_LT, FLOW_LE, FLOW_GT, FLOW_GE, FLOW_CONTAINS, FLOW_STARTS, FLOW_EXISTS };
#define FLOW_OPERATORS 9

/* Where a value is. */
struct flow_path {
    enum flow_root {
        FLOW_AT_PARAMETER, /* flow.NAME */
        FLOW_AT_RUN_ID,    /* run.id */
        FLOW_AT_ITEM,      /* item, index: of a map */
        FLOW_AT_INDEX,
        FLOW_AT_RESULT, /* steps.NAME.result, and so on */
        FLOW_AT_STATE,
        FLOW_AT_CODE,
        FLOW_AT_ADDRESS,
        FLOW_AT_STARTED,
        FLOW_AT_ENDED,
    } root;
    size_t number;       /* of the parameter or the step */
    const char *pointer; /* JSON Pointer into it, "" for all; ended by the end of the path, not by NUL */
    size_t pointer_len;
};

struct flow_condition {
    struct flow_path path;
    const char *text; /* of the path */
    enum flow_operator op;
    struct json_object *value;
};

struct flow_edge {
    size_t from, to;
    enum flow_on on;
    bool any; /* one condition is enough */
    struct flow_condition *conditions;
    size_t condition_count;
};

struct flow_parameter {
    const char *name;
    enum flow_type { FLOW_TYPE_TEXT, FLOW_TYPE_NUMBER, FLOW_TYPE_BOOLEAN, FLOW_TYPE_JSON } type;
    bool required;
    bool has_default;
    struct json_object *value; /* the default */
};

struct flow {
    struct json_object *document; /* texts and values of all that follows lie in it */
    const char *name;
    struct flow_settings settings;
    char *tags, *mails; /* of the settings */
    struct flow_parameter *parameters;
    size_t parameter_count;
    struct flow_step *steps;
    size_t step_count;
    struct flow_edge *edges;
    size_t edge_count;
    size_t *order;                         /* steps, each after all that lead to it */
    uint8_t (*before)[FLOW_STEPS_MAX / 8]; /* of each step a bit for each that comes before it */
};

struct flow_step_values {
    enum flow_state state;
    bool has_end;
    bool has_result;
    struct json_object *result;
    size_t result_len;
    int64_t code, started_ms, ended_ms;
    char *address;
};

struct flow_values {
    const struct flow *flow;
    const struct zone *zone;
    int64_t run_id, due_s;
    struct json_object *parameters; /* by name, complete */
    struct flow_step_values *steps;
    size_t result_bytes;
};

/* ---- path.c ---- */

bool flow_is_name(const char *text, size_t len);
size_t flow_find_step(const struct flow *flow, const char *name, size_t len); /* step_count: there is none */
/* ERR_INPUT with a sentence. item: "item" and "index" are allowed. */
MUST_CHECK enum err flow_parse_path(const struct flow *flow, const char *text, size_t len, bool item,
                                    struct flow_path *out, struct errctx *ec);
bool flow_path_has_step(const struct flow_path *path);
/* What is there, with a reference of the caller's own (*out NULL: it is null). ERR_NOTFOUND with a sentence; `item` may
 * be NULL. */
MUST_CHECK enum err flow_find_value(const struct flow_values *values, const struct flow_path *path, const char *text,
                                    size_t len, const struct flow_item *item, struct json_object **out,
                                    struct errctx *ec);
/* JSON as it is; ERR_INPUT with where it is none. */
MUST_CHECK enum err flow_parse_json(const char *text, size_t len, struct json_object **out, struct errctx *ec);

/* ---- template.c ---- */

/* Looks at a template without values. `each` is called for each path in it, and may refuse it. */
typedef enum err flow_path_check(const struct flow_path *path, const char *text, size_t len, void *arg,
                                 struct errctx *ec);
MUST_CHECK enum err flow_check_template(const struct flow *flow, const char *template, bool item, flow_path_check *each,
                                        void *arg, struct errctx *ec);

/* ---- condition.c ---- */

enum flow_verdict { FLOW_UNDECIDED, FLOW_TRUE, FLOW_FALSE };
enum flow_verdict flow_judge_edge(const struct flow_values *values, const struct flow_edge *edge,
                                  const enum flow_state *states);

/* ---- graph.c ---- */

/* Fills in order and before. ERR_INPUT names a circle. */
MUST_CHECK enum err flow_sort_steps(struct flow *flow, struct errctx *ec);

#endif
