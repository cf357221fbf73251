/* SPDX-License-Identifier: MIT */
/* Documents that were read: by the version, and by when it was saved. */
#include "test.h"

#include "flowrun/documents.h"
#include "shardwheel/store/job.h"
#include "shardwheel/store/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int64_t saved_ms; /* of version 1 of flow 7 */
static const char *saved_name, *saved_steps = "{\"name\":\"a\",\"type\":\"wait\",\"seconds\":1}";
static int64_t found_ms; /* of the same version, where a step's flow is looked for; 0: there is none */
static int reads;
static struct errctx ec;

enum err store_load_flow_versions_of(struct store_session *s, const int64_t *run_ids, size_t count,
                                     struct flow_version **out, size_t *out_count, struct errctx *why)
{
    (void)s, (void)run_ids, (void)count, (void)why;
    *out = calloc(1, sizeof **out);
    assert_non_null(*out);
    **out = (struct flow_version){7, 1, saved_ms};
    *out_count = 1;
    return ERR_OK;
}

enum err store_load_flow_document(struct store_session *s, struct flow_version version, char **out, struct errctx *why)
{
    char text[300];

    (void)s, (void)version, (void)why;
    reads++;
    snprintf(text, sizeof text, "{\"name\":\"%s\",\"steps\":[%s]}", saved_name, saved_steps);
    *out = str_copy(text);
    return ERR_OK;
}

enum err store_find_flow(struct store_session *s, const char *name, struct flow_version *out, struct errctx *why)
{
    (void)s;
    *out = (struct flow_version){7, 1, found_ms};
    return found_ms ? ERR_OK : err_set(why, ERR_NOTFOUND, "there is no flow %s", name);
}

enum err store_load_targets(struct store_session *s, const int64_t *ids, size_t count, struct job_spec **specs,
                            struct group_spec **groups, struct errctx *why)
{
    (void)s, (void)ids, (void)count, (void)specs, (void)groups, (void)why;
    return ERR_OK;
}

static const char *load(struct documents *d)
{
    const struct advance_flow *flow;
    int64_t run = 1;

    assert_int_equal(documents_load(d, NULL, &run, 1, &ec), ERR_OK);
    flow = documents_find(d, (struct flow_version){7, 1, 0});
    assert_non_null(flow);
    return flow_get_name(flow->flow);
}

/* A removed flow's id is given again, or a version that a failover has lost: what was read before is another one. */
static void a_version_that_was_saved_anew_is_read_anew(void **state)
{
    struct documents *d = NULL;

    (void)state;
    assert_int_equal(documents_create(&d, &ec), ERR_OK);
    reads = 0;
    saved_ms = 1000;
    saved_name = "before";
    assert_string_equal(load(d), "before");
    assert_string_equal(load(d), "before");
    assert_int_equal(reads, 1);
    saved_ms = 2000;
    saved_name = "after";
    assert_string_equal(load(d), "after");
    assert_int_equal(reads, 2);
    documents_destroy(d);
}

/* It is found anew while a batch is read, by the name of a step of the document that it replaces. */
static void a_batch_can_use_a_document_that_it_found_to_be_another(void **state)
{
    struct documents *d = NULL;
    const struct advance_flow *flow;

    (void)state;
    assert_int_equal(documents_create(&d, &ec), ERR_OK);
    reads = 0;
    saved_ms = 1000;
    found_ms = 2000;
    saved_name = "both";
    saved_steps = "{\"name\":\"a\",\"type\":\"flow\",\"flow\":\"first\"},"
                  "{\"name\":\"b\",\"type\":\"flow\",\"flow\":\"second\"}";
    assert_string_equal(load(d), "both");
    assert_int_equal(reads, 2);
    flow = documents_find(d, (struct flow_version){7, 1, 0});
    assert_int_equal(flow->version.at_ms, 2000);
    assert_ptr_equal(documents_find_name(d, "first"), flow);
    assert_ptr_equal(documents_find_name(d, "second"), flow);
    found_ms = 0;
    assert_string_equal(load(d), "both"); /* what was replaced goes */
    assert_int_equal(reads, 3);
    documents_destroy(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_version_that_was_saved_anew_is_read_anew),
                                       cmocka_unit_test(a_batch_can_use_a_document_that_it_found_to_be_another)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
