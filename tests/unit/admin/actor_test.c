/* SPDX-License-Identifier: MIT */
/* Who may what: every role with every right, in groups of his and others. */
#include "shardwheel/admin.h"
#include "test.h"

#include <string.h>

static const int64_t groups[] = {3, 7};

static struct actor make_actor(enum admin_role role)
{
    return (struct actor){
        .user_id = 5, .name = "ann", .role = role, .rights = RIGHTS_ALL, .groups = groups, .group_count = 2};
}

static unsigned find_rights(const struct actor *actor, int64_t group)
{
    unsigned rights = 0;

    for (unsigned right = 1; right <= RIGHTS_ALL; right <<= 1)
        rights |= actor_may(actor, (enum admin_right)right, group) ? right : 0;
    return rights;
}

static void roles_have_their_rights_in_their_groups(void **state)
{
    static const struct {
        enum admin_role role;
        unsigned own, other, all;
    } table[] = {
        {ROLE_ADMIN, RIGHTS_ALL, RIGHTS_ALL, RIGHTS_ALL},
        {ROLE_USER, RIGHT_SEE | RIGHT_RUN | RIGHT_CHANGE, 0, 0},
        {ROLE_RUNNER, RIGHT_SEE | RIGHT_RUN, 0, 0},
        {ROLE_READER, RIGHT_SEE, 0, 0},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        struct actor actor = make_actor(table[i].role);

        assert_int_equal(find_rights(&actor, 3), table[i].own);
        assert_int_equal(find_rights(&actor, 7), table[i].own);
        assert_int_equal(find_rights(&actor, 4), table[i].other);
        assert_int_equal(find_rights(&actor, 0), table[i].all);
        assert_int_equal(find_rights(&actor, -1), table[i].all);
    }
}

static void a_role_of_all_groups_is_no_admin(void **state)
{
    struct actor actor = make_actor(ROLE_READER);

    (void)state;
    actor.all_groups = true;
    assert_int_equal(find_rights(&actor, 4), RIGHT_SEE);
    assert_int_equal(find_rights(&actor, 0), RIGHT_SEE);
}

static void scopes_take_rights_away_and_give_none(void **state)
{
    struct actor actor = make_actor(ROLE_ADMIN);

    (void)state;
    actor.rights = RIGHT_SEE;
    assert_int_equal(find_rights(&actor, 4), RIGHT_SEE);
    actor = make_actor(ROLE_READER);
    actor.rights = RIGHT_RUN;
    assert_int_equal(find_rights(&actor, 3), 0);
}

static void a_user_without_groups_sees_nothing(void **state)
{
    struct actor actor = make_actor(ROLE_USER);

    (void)state;
    actor.group_count = 0;
    assert_int_equal(find_rights(&actor, 3), 0);
    assert_int_equal(find_rights(&actor, 0), 0);
}

static void a_refusal_says_who_and_which_group(void **state)
{
    struct actor actor = make_actor(ROLE_USER);
    struct refusal r = {0};

    (void)state;
    assert_int_equal(refuse_unless(&actor, RIGHT_CHANGE, 3, &r), ERR_OK);
    assert_int_equal(refuse_unless(&actor, RIGHT_CHANGE, 4, &r), ERR_DENIED);
    assert_int_equal(r.kind, REFUSED_RIGHT);
    assert_string_equal(r.text.text, "ann has no right to do this in executor group 4");
    assert_int_equal(refuse(&r, REFUSED_LENGTH, "author", "author has %d characters", 65), ERR_INPUT);
    assert_string_equal(r.field, "author");
    assert_string_equal(refusal_name(r.kind), "length");
}

static void a_refusal_names_the_scope_that_a_token_does_not_have(void **state)
{
    struct actor actor = make_actor(ROLE_USER);
    struct refusal r = {0};

    (void)state;
    actor.rights = RIGHT_SEE;
    assert_int_equal(refuse_unless(&actor, RIGHT_CHANGE, 3, &r), ERR_DENIED);
    assert_string_equal(r.text.text, "the token has no scope write");
    assert_int_equal(refuse_unless(&actor, RIGHT_RUN, 0, &r), ERR_DENIED);
    assert_string_equal(r.text.text, "the token has no scope run");
    /* Another scope would not help: that is for administrators. */
    assert_int_equal(refuse_unless(&actor, RIGHT_ADMINISTER, 0, &r), ERR_DENIED);
    assert_string_equal(r.text.text, "ann has no right to do this");
    actor.rights = RIGHT_RUN;
    assert_int_equal(refuse_unless_sees(&actor, &r), ERR_DENIED);
    assert_int_equal(r.kind, REFUSED_RIGHT);
    assert_string_equal(r.text.text, "the token has no scope read");
}

static void a_refusal_may_be_made_of_its_own_text(void **state)
{
    struct refusal r = {0};

    (void)state;
    err_set(&r.text, ERR_INPUT, "the text of the store");
    assert_int_equal(refuse_error(&r, ERR_INPUT), ERR_INPUT);
    assert_string_equal(r.text.text, "the text of the store");
    assert_int_equal(refuse(&r, REFUSED_STATE, NULL, "node a: %s", r.text.text), ERR_STATE);
    assert_string_equal(r.text.text, "node a: the text of the store");
    assert_int_equal(refuse_length(&r, "name", 1, 9, "%s, too", r.text.text), ERR_INPUT);
    assert_string_equal(r.text.text, "node a: the text of the store, too");
    assert_true(r.min == 1 && r.max == 9);
}

static void roles_have_names(void **state)
{
    (void)state;
    for (enum admin_role role = ROLE_ADMIN; role <= ROLE_READER; role++) {
        enum admin_role found;

        assert_true(role_parse(role_name(role), &found));
        assert_int_equal(found, role);
    }
    enum admin_role none;
    assert_false(role_parse("root", &none));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(roles_have_their_rights_in_their_groups),
        cmocka_unit_test(a_role_of_all_groups_is_no_admin),
        cmocka_unit_test(scopes_take_rights_away_and_give_none),
        cmocka_unit_test(a_user_without_groups_sees_nothing),
        cmocka_unit_test(a_refusal_says_who_and_which_group),
        cmocka_unit_test(a_refusal_names_the_scope_that_a_token_does_not_have),
        cmocka_unit_test(a_refusal_may_be_made_of_its_own_text),
        cmocka_unit_test(roles_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
