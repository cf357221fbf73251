/* SPDX-License-Identifier: MIT */
/* The OpenAPI document has every route of api/v1 and no other, and refers to nothing that is not there. */
#include "http/v1/v1.h"
#include "shardwheel/admin/explain.h"
#include "shardwheel/admin/reasons.h"
#include "shardwheel/alarm.h"
#include "shardwheel/route.h"
#include "shardwheel/store/job.h"

#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include <json-c/json.h>

static const struct {
    const char *name;
    unsigned method;
} methods[] = {
    {"get", ROUTE_GET}, {"post", ROUTE_POST}, {"put", ROUTE_PUT}, {"patch", ROUTE_PATCH}, {"delete", ROUTE_DELETE}};

static json_object *load_document(void)
{
    struct buf text = {0};

    v1_put_document(&text, &(struct route_call){.clean = "/openapi.json", .path = "/openapi.json"});
    assert_false(buf_failed(&text));
    json_tokener *tokener = json_tokener_new();
    json_tokener_set_flags(tokener, JSON_TOKENER_STRICT);
    json_object *root = json_tokener_parse_ex(tokener, text.data, (int)text.len + 1);
    if (!root)
        print_error("%s\n", json_tokener_error_desc(json_tokener_get_error(tokener)));
    assert_non_null(root);
    json_tokener_free(tokener);
    buf_fini(&text);
    return root;
}

static json_object *find(json_object *in, const char *name)
{
    return json_object_object_get(in, name);
}

static bool has_operation(json_object *paths, const char *pattern, const char *method)
{
    json_object *path = find(paths, pattern);

    return path && find(path, method);
}

static bool has_route(const char *pattern, unsigned method)
{
    const struct v1_route *route;

    for (size_t i = 0; (route = v1_get_route(i)); i++) {
        if (!strcmp(route->route.pattern, pattern) && route->route.methods & method)
            return true;
    }
    return false;
}

static void has_every_route(void **state)
{
    (void)state;
    json_object *root = load_document(), *paths = find(root, "paths");
    const struct v1_route *route;

    for (size_t i = 0; (route = v1_get_route(i)); i++) {
        for (size_t m = 0; m < ARRAY_LEN(methods); m++) {
            if (route->route.methods & methods[m].method &&
                !has_operation(paths, route->route.pattern, methods[m].name))
                fail_msg("no operation in the document: %s %s", methods[m].name, route->route.pattern);
        }
    }
    json_object_put(root);
}

static void has_no_other_operation(void **state)
{
    (void)state;
    json_object *root = load_document();

    json_object_object_foreach(find(root, "paths"), pattern, path)
    {
        for (size_t m = 0; m < ARRAY_LEN(methods); m++) {
            if (find(path, methods[m].name) && !has_route(pattern, methods[m].method))
                fail_msg("no route: %s %s", methods[m].name, pattern);
        }
    }
    json_object_put(root);
}

/* Every operation says who it is, and what it answers to whom it does not like. */
static void check_operation(const char *pattern, const char *method, json_object *operation, json_object *ids)
{
    const char *id = json_object_get_string(find(operation, "operationId"));
    bool open = find(operation, "security") != NULL;
    json_object *responses = find(operation, "responses");

    if (!id || !find(operation, "summary") || !find(operation, "tags") || !responses)
        fail_msg("%s %s lacks operationId, summary, tags or responses", method, pattern);
    if (find(ids, id))
        fail_msg("the operationId %s is there twice", id);
    json_object_object_add(ids, id, json_object_new_boolean(1));
    if (!open && (!find(responses, "401") || !find(responses, "503")))
        fail_msg("%s %s lacks the responses 401 and 503", method, pattern);
    if (!find(responses, "400"))
        fail_msg("%s %s lacks the response 400", method, pattern);
}

static void operations_are_whole(void **state)
{
    (void)state;
    json_object *root = load_document(), *ids = json_object_new_object();

    json_object_object_foreach(find(root, "paths"), pattern, path)
    {
        for (size_t m = 0; m < ARRAY_LEN(methods); m++) {
            json_object *operation = find(path, methods[m].name);
            if (operation)
                check_operation(pattern, methods[m].name, operation, ids);
        }
    }
    json_object_put(ids);
    json_object_put(root);
}

/* "#/components/schemas/Id" */
static void check_reference(json_object *root, const char *reference)
{
    char copy[200];
    json_object *at = root;

    assert_int_equal(strncmp(reference, "#/", 2), 0);
    snprintf(copy, sizeof copy, "%s", reference + 2);
    for (char *save = NULL, *part = strtok_r(copy, "/", &save); part; part = strtok_r(NULL, "/", &save))
        at = at ? find(at, part) : NULL;
    if (!at)
        fail_msg("%s refers to nothing", reference);
}

static void check_references(json_object *root, json_object *in)
{
    if (json_object_is_type(in, json_type_array)) {
        for (size_t i = 0; i < json_object_array_length(in); i++)
            check_references(root, json_object_array_get_idx(in, i));
    } else if (json_object_is_type(in, json_type_object)) {
        json_object_object_foreach(in, name, value)
        {
            if (!strcmp(name, "$ref") && json_object_is_type(value, json_type_string))
                check_reference(root, json_object_get_string(value));
            else
                check_references(root, value);
        }
    }
}

static void references_lead_somewhere(void **state)
{
    (void)state;
    json_object *root = load_document();

    check_references(root, root);
    json_object_put(root);
}

static void a_context_is_the_server(void **state)
{
    (void)state;
    struct buf text = {0};

    v1_put_document(&text, &(struct route_call){.clean = "/xxl-job-admin/openapi.json", .path = "/openapi.json"});
    assert_non_null(strstr(text.data, "\"servers\":[{\"url\":\"/xxl-job-admin\"}]"));
    buf_fini(&text);
}

/* The values of an enum are those names, and its description has a word about each. */
static void check_names(json_object *schemas, const char *schema, size_t count, const char *(*get_name)(size_t i))
{
    json_object *values = find(find(schemas, schema), "enum");
    const char *description = json_object_get_string(find(find(schemas, schema), "description"));

    if (!values || json_object_array_length(values) != count)
        fail_msg("%s must have %zu values", schema, count);
    for (size_t i = 0; i < count; i++) {
        char quoted[60];
        bool listed = false;

        for (size_t k = 0; k < count; k++)
            listed = listed || !strcmp(json_object_get_string(json_object_array_get_idx(values, k)), get_name(i));
        snprintf(quoted, sizeof quoted, "`%s`: ", get_name(i));
        if (!listed || !strstr(description, quoted))
            fail_msg("%s says nothing of %s", schema, get_name(i));
    }
}

static const char *get_reason(size_t i)
{
    return explain_reason_name((enum explain_reason)i);
}

static const char *get_origin(size_t i)
{
    return explain_origin_name((enum explain_origin)i);
}

/* CAUSE_NONE is left out of an answer. */
static const char *get_cause(size_t i)
{
    return explain_cause_name((enum explain_cause)(i + 1));
}

/* Likewise. */
static const char *get_run_reason(size_t i)
{
    return run_reason_name((enum run_reason)(i + 1));
}

static void every_reason_is_described(void **state)
{
    json_object *root = load_document(), *schemas = find(find(root, "components"), "schemas");
    (void)state;

    check_names(schemas, "ExplainReason", WHY_REASONS, get_reason);
    check_names(schemas, "ExplainOrigin", ORIGINS, get_origin);
    check_names(schemas, "ExplainCause", CAUSES - 1, get_cause);
    check_names(schemas, "RunReason", REASONS - 1, get_run_reason);
    json_object_put(root);
}

static const char *get_webhook_kind(size_t i)
{
    return alarm_webhook_kinds()[i];
}

static void check_values(json_object *schemas, const char *schema, size_t count, const char *(*get_name)(size_t i))
{
    json_object *values = find(find(schemas, schema), "enum");
    size_t listed = values ? json_object_array_length(values) : 0;

    for (size_t i = 0; i < count; i++) {
        size_t k = 0;

        while (k < listed && strcmp(json_object_get_string(json_object_array_get_idx(values, k)), get_name(i)) != 0)
            k++;
        if (k == listed)
            fail_msg("%s of the document lacks %s", schema, get_name(i));
    }
    if (listed != count)
        fail_msg("%s of the document has %zu values, and the program %zu", schema, listed, count);
}

/* Each setting of a job has a member there, and nothing else has. */
static void check_settings(json_object *object, const char *what)
{
    size_t listed = (size_t)json_object_object_length(find(object, "properties"));

    for (size_t i = 0; i < job_setting_count(); i++)
        if (!find(find(object, "properties"), job_setting_get(i)->member))
            fail_msg("%s of the document lacks %s", what, job_setting_get(i)->member);
    if (listed != job_setting_count())
        fail_msg("%s of the document has %zu members, and the program %zu", what, listed, job_setting_count());
}

static void settings_are_those_of_the_program(void **state)
{
    json_object *root = load_document(), *schemas = find(find(root, "components"), "schemas");
    json_object *shown = find(find(find(schemas, "Job"), "properties"), "settings");

    (void)state;
    check_settings(find(schemas, "JobSettings"), "JobSettings");
    check_settings(shown, "Job.settings");
    assert_int_equal(json_object_array_length(find(shown, "required")), job_setting_count());
    json_object_put(root);
}

static void values_are_those_of_the_program(void **state)
{
    json_object *root = load_document(), *schemas = find(find(root, "components"), "schemas");
    size_t kinds = 0;

    (void)state;
    while (alarm_webhook_kinds()[kinds])
        kinds++;
    check_values(schemas, "WebhookKind", kinds, get_webhook_kind);
    check_values(schemas, "RouteStrategy", route_count(), route_name);
    json_object_put(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(has_every_route),
        cmocka_unit_test(has_no_other_operation),
        cmocka_unit_test(operations_are_whole),
        cmocka_unit_test(references_lead_somewhere),
        cmocka_unit_test(a_context_is_the_server),
        cmocka_unit_test(every_reason_is_described),
        cmocka_unit_test(values_are_those_of_the_program),
        cmocka_unit_test(settings_are_those_of_the_program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
