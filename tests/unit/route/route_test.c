/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dispatch/fake_parts.h"
#include "route/hash_ring.h"
#include "shardwheel/job.h"
#include "shardwheel/route.h"

static struct routes *create_routes(void)
{
    struct routes *r = NULL;
    struct errctx ec;

    assert_int_equal(routes_create(42, &r, &ec), ERR_OK);
    routes_begin(r, 1000);
    return r;
}

static struct route_choice pick(struct routes *r, int64_t job_id, const char *route, const struct registry_group *group)
{
    struct fire fire = {.job_id = job_id, .group = 3, .shard_total = 1};
    struct route_choice choice;

    routes_pick(r, &fire, route, group, &choice);
    return choice;
}

static const char *const three[] = {"http://a:1/", "http://b:1/", "http://c:1/"};
static const struct registry_group group_of_three = {
    .id = 3, .app_name = "app", .access_token = "", .addresses = three, .count = 3};
static const struct registry_group group_of_none = {.id = 3, .app_name = "app", .access_token = ""};

/* ---- consistent hash --------------------------------------------------------------------------------------------- */

static void hash_vectors_pass_with_and_without_a_ring(void **state)
{
    FILE *file = fopen(SHARDWHEEL_SOURCE_DIR "/tests/vectors/consistent_hash.jsonl", "r");
    char *line = NULL;
    size_t cap = 0, lines = 0;

    (void)state;
    assert_non_null(file);
    while (getline(&line, &cap, file) > 0) {
        struct json_object *o = json_tokener_parse(line), *list;
        struct hash_ring ring = {0};
        const char *addresses[512];
        const char *chosen;
        int64_t job;
        size_t count;

        assert_non_null(o);
        list = json_object_object_get(o, "addresses");
        chosen = json_object_get_string(json_object_object_get(o, "chosen"));
        job = json_object_get_int64(json_object_object_get(o, "job_id"));
        count = json_object_array_length(list);
        assert_in_range(count, 1, 512);
        for (size_t i = 0; i < count; i++)
            addresses[i] = json_object_get_string(json_object_array_get_idx(list, i));
        assert_string_equal(addresses[route_pick_consistent_hash(job, addresses, count)], chosen);
        assert_int_equal(hash_ring_set(&ring, addresses, count), ERR_OK);
        assert_string_equal(addresses[hash_ring_pick(&ring, job)], chosen);
        hash_ring_fini(&ring);
        json_object_put(o);
        lines++;
    }
    free(line);
    fclose(file);
    assert_int_equal(lines, 200);
}

static void a_ring_is_made_anew_for_another_list_only(void **state)
{
    static const char *const two[] = {"http://a:1/", "http://c:1/"};
    struct hash_ring ring = {0};
    uint64_t *points;

    (void)state;
    assert_int_equal(hash_ring_set(&ring, three, 3), ERR_OK);
    points = ring.points;
    assert_int_equal(hash_ring_set(&ring, three, 3), ERR_OK);
    assert_ptr_equal(ring.points, points);
    assert_int_equal(hash_ring_set(&ring, two, 2), ERR_OK);
    for (int64_t job = 1; job < 200; job++)
        assert_int_equal(hash_ring_pick(&ring, job), route_pick_consistent_hash(job, two, 2));
    hash_ring_fini(&ring);
}

static void the_route_follows_a_changed_list_in_the_next_round(void **state)
{
    struct routes *r = create_routes();
    const char *addresses[] = {"http://a:1/", "http://b:1/", "http://c:1/"};
    struct registry_group group = group_of_three;
    int moved = 0;

    (void)state;
    group.addresses = addresses;
    for (int64_t job = 1; job < 100; job++)
        assert_string_equal(pick(r, job, "CONSISTENT_HASH", &group).address,
                            addresses[route_pick_consistent_hash(job, addresses, 3)]);
    addresses[1] = "http://z:9/"; /* the same array and count: only the text tells */
    routes_begin(r, 2000);
    for (int64_t job = 1; job < 100; job++) {
        const char *got = pick(r, job, "CONSISTENT_HASH", &group).address;
        assert_string_equal(got, addresses[route_pick_consistent_hash(job, addresses, 3)]);
        moved += strcmp(got, "http://z:9/") == 0;
    }
    assert_in_range(moved, 1, 98);
    routes_destroy(r);
}

static void rings_of_many_groups_do_not_mix(void **state)
{
    struct routes *r = create_routes();
    char texts[50][32];
    const char *lists[50][2];
    struct registry_group groups[50];

    (void)state;
    for (int i = 0; i < 50; i++) {
        snprintf(texts[i], sizeof texts[i], "http://host%d:1/", i);
        lists[i][0] = texts[i];
        lists[i][1] = "http://same:1/";
        groups[i] = (struct registry_group){.id = (i * 37) % 50, .app_name = "", .addresses = lists[i], .count = 2};
    }
    for (int round = 0; round < 3; round++) {
        routes_begin(r, 2000 + round);
        for (int i = 0; i < 50; i++)
            for (int64_t job = 1; job < 20; job++)
                assert_ptr_equal(pick(r, job, "CONSISTENT_HASH", &groups[i]).address,
                                 lists[i][route_pick_consistent_hash(job, lists[i], 2)]);
    }
    routes_destroy(r);
}

/* ---- the others -------------------------------------------------------------------------------------------------- */

static int index_of(const char *address)
{
    for (int i = 0; i < 3; i++)
        if (strcmp(three[i], address) == 0)
            return i;
    fail();
    return -1;
}

static void first_is_the_first(void **state)
{
    struct routes *r = create_routes();

    (void)state;
    for (int i = 0; i < 5; i++)
        assert_string_equal(pick(r, 7, "FIRST", &group_of_three).address, three[0]);
    routes_destroy(r);
}

static void last_is_the_last(void **state)
{
    struct routes *r = create_routes();
    struct registry_group group = group_of_three;

    (void)state;
    for (group.count = 3; group.count > 0; group.count--)
        assert_string_equal(pick(r, 7, "LAST", &group).address, three[group.count - 1]);
    routes_destroy(r);
}

static void random_is_uniform_and_no_turn(void **state)
{
    enum { PICKS = 30000 };
    struct routes *r = create_routes();
    int counts[3] = {0}, pairs[3][3] = {{0}}, before = 0;

    (void)state;
    for (int i = 0; i < PICKS; i++) {
        int now = index_of(pick(r, 7, "RANDOM", &group_of_three).address);

        counts[now]++;
        pairs[before][now]++;
        before = now;
    }
    for (int i = 0; i < 3; i++) {
        assert_in_range(counts[i], PICKS / 3 - 500, PICKS / 3 + 500);
        for (int j = 0; j < 3; j++)
            assert_in_range(pairs[i][j], PICKS / 9 - 400, PICKS / 9 + 400);
    }
    routes_destroy(r);
}

static void round_goes_in_turn_for_each_job(void **state)
{
    struct routes *r = create_routes();
    enum { JOBS = 5000 };
    static int last[JOBS];
    int starts[3] = {0};

    (void)state;
    for (int job = 0; job < JOBS; job++) {
        last[job] = index_of(pick(r, job + 1, "ROUND", &group_of_three).address);
        starts[last[job]]++;
    }
    for (int i = 0; i < 3; i++)
        assert_in_range(starts[i], JOBS / 5, JOBS / 2); /* the starts are random */
    for (int turn = 0; turn < 4; turn++) {
        for (int job = 0; job < JOBS; job++) {
            int now = index_of(pick(r, job + 1, "ROUND", &group_of_three).address);
            assert_int_equal(now, (last[job] + 1) % 3);
            last[job] = now;
        }
    }
    routes_destroy(r);
}

static void round_starts_below_a_hundred_and_again_after_a_million(void **state)
{
    static const char *many[2000003];
    struct registry_group group = {.id = 3, .app_name = "", .addresses = many, .count = ARRAY_LEN(many)};
    struct routes *r = create_routes();
    size_t at, before, restarts = 0;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(many); i++)
        many[i] = (const char *)&many[i]; /* never read; the place in the list is the counter */
#define COUNTER() ((size_t)((const char *const *)(const void *)pick(r, 1, "ROUND", &group).address - many))
    before = COUNTER();
    assert_in_range(before, 0, 99);
    for (int i = 0; i < 1000100; i++) {
        at = COUNTER();
        if (at != before + 1) {
            assert_int_equal(before, 1000001); /* the use that finds more than 1,000,000 starts anew */
            assert_in_range(at, 0, 99);
            restarts++;
        }
        before = at;
    }
#undef COUNTER
    assert_int_equal(restarts, 1);
    routes_destroy(r);
}

static void state_is_forgotten_after_a_day(void **state)
{
    enum { DAY_MS = 24 * 3600 * 1000, JOBS = 200 };
    struct routes *r = create_routes();
    int before[JOBS], jumps = 0;

    (void)state;
    for (int job = 0; job < JOBS; job++)
        before[job] = index_of(pick(r, job, "ROUND", &group_of_three).address);
    routes_begin(r, 1000 + DAY_MS); /* not yet more than a day */
    for (int job = 0; job < JOBS; job++) {
        int now = index_of(pick(r, job, "ROUND", &group_of_three).address);
        assert_int_equal(now, (before[job] + 1) % 3);
        before[job] = now;
    }
    routes_begin(r, 1001 + DAY_MS);
    for (int job = 0; job < JOBS; job++)
        jumps += index_of(pick(r, job, "ROUND", &group_of_three).address) != (before[job] + 1) % 3;
    assert_in_range(jumps, JOBS / 3, JOBS); /* random starts: two thirds are not the next in turn */
    pick(r, 7, "LEAST_RECENTLY_USED", &group_of_three);
    routes_begin(r, 1002 + 2 * (int64_t)DAY_MS);
    assert_string_equal(pick(r, 7, "LEAST_RECENTLY_USED", &group_of_three).address, three[0]);
    routes_destroy(r);
}

/* ---- the least used ---------------------------------------------------------------------------------------------- */

static const char *const letters[] = {"http://a/", "http://b/", "http://c/", "http://d/", "http://e/"};

/* "abc": the addresses of these letters, in this order. */
static struct registry_group list_of(const char *text, const char *room[8])
{
    struct registry_group group = {.id = 3, .app_name = "app", .access_token = "", .addresses = room};

    for (; text[group.count]; group.count++)
        room[group.count] = letters[text[group.count] - 'a'];
    return group;
}

/* One letter for each pick. */
static void pick_letters(struct routes *r, int64_t job_id, const char *route, const char *list, size_t count, char *out)
{
    const char *room[8];
    struct registry_group group = list_of(list, room);

    routes_begin(r, 2000);
    for (size_t i = 0; i < count; i++)
        out[i] = pick(r, job_id, route, &group).address[7];
    out[count] = '\0';
}

/* A stable list is gone through from the first address on; one that is new comes after all known ones. */
static void least_recently_used_goes_by_age(void **state)
{
    static const struct {
        const char *lists[4], *picks[4];
    } cases[] = {
        {{"abc"}, {"abcabcabc"}},
        {{"a"}, {"aaa"}},
        {{"abc", "abcd"}, {"ab", "cabdc"}},         /* new, behind a and b, which were used before it came */
        {{"abc", "dabce"}, {"a", "bcadeb"}},        /* two are new, in the order of the list */
        {{"abc", "ac", "abc"}, {"a", "ca", "cab"}}, /* b was gone: it is new when it comes back */
        {{"abc", "cba"}, {"a", "bca"}},             /* the order of the list does not matter to those known */
        {{"abc", "de", "abc"}, {"abc", "ded", "abc"}},
    };
    struct routes *r = create_routes();
    char got[16];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        for (int step = 0; step < 4 && cases[i].lists[step]; step++) {
            pick_letters(r, (int64_t)i + 1, "LEAST_RECENTLY_USED", cases[i].lists[step], strlen(cases[i].picks[step]),
                         got);
            assert_string_equal(got, cases[i].picks[step]);
        }
    }
    routes_destroy(r);
}

/* Counts begin below the length of the list, so they are even after so many uses and stay so. */
static void least_frequently_used_evens_out(void **state)
{
    struct routes *r = create_routes();
    int first[3] = {0};

    (void)state;
    for (int64_t job = 1; job <= 300; job++) {
        int counts[3] = {0}, before[3];

        for (int i = 0; i < 300; i++) {
            int at = index_of(pick(r, job, "LEAST_FREQUENTLY_USED", &group_of_three).address);
            first[at] += i == 0;
            counts[at]++;
        }
        for (int i = 0; i < 3; i++)
            assert_in_range(counts[i], 98, 102);
        memcpy(before, counts, sizeof counts);
        for (int i = 0; i < 300; i++)
            counts[index_of(pick(r, job, "LEAST_FREQUENTLY_USED", &group_of_three).address)]++;
        for (int i = 0; i < 3; i++)
            assert_in_range(counts[i] - before[i], 98, 102);
    }
    for (int i = 0; i < 3; i++)
        assert_in_range(first[i], 20, 250); /* the counts begin at random numbers */
    routes_destroy(r);
}

/* A new address begins at a random count below the length of the list, so all goes to it until it has caught up. */
static void least_frequently_used_prefers_who_is_new(void **state)
{
    struct routes *r = create_routes();
    char got[202];

    (void)state;
    pick_letters(r, 1, "LEAST_FREQUENTLY_USED", "ab", 200, got);
    pick_letters(r, 1, "LEAST_FREQUENTLY_USED", "abc", 90, got);
    assert_int_equal(strspn(got, "c"), 90);
    pick_letters(r, 1, "LEAST_FREQUENTLY_USED", "ab", 2, got);
    pick_letters(r, 1, "LEAST_FREQUENTLY_USED", "abc", 90, got); /* was gone: its uses are forgotten */
    assert_int_equal(strspn(got, "c"), 90);
    routes_destroy(r);
}

static void least_frequently_used_begins_anew_after_a_million(void **state)
{
    struct routes *r = create_routes();
    struct registry_group one = {.id = 3, .app_name = "app", .access_token = "", .addresses = three, .count = 1};
    char got[11];

    (void)state;
    routes_begin(r, 2000);
    for (int i = 0; i < 1000001; i++)
        assert_ptr_equal(pick(r, 1, "LEAST_FREQUENTLY_USED", &one).address, three[0]);
    one.addresses = letters;
    pick_letters(r, 2, "LEAST_FREQUENTLY_USED", "a", 1, got); /* its count is 1 */
    for (int i = 0; i < 1000000; i++)
        pick_letters(r, 2, "LEAST_FREQUENTLY_USED", "a", 1, got);
    /* a has 1,000,001 uses: more than a million. Without a new beginning b would have the next million. */
    pick_letters(r, 2, "LEAST_FREQUENTLY_USED", "ab", 10, got);
    assert_non_null(strchr(got, 'a'));
    routes_destroy(r);
}

static void a_broadcast_goes_where_it_was_planned_for(void **state)
{
    struct routes *r = create_routes();
    struct job_spec job = {.id = 1, .route = "NO_SUCH"}; /* edited since: what was planned stays a broadcast */
    char address[] = "http://gone:1/";
    struct fire fire = {
        .job_id = 1, .broadcast = true, .shard_index = 1, .shard_total = 2, .address = address, .job = &job};
    struct route_choice choice;

    (void)state;
    routes_pick(r, &fire, job.route, &group_of_three, &choice);
    assert_ptr_equal(choice.address, address);
    fire.address = NULL; /* planned as 0/1 when nobody was registered */
    fire.shard_index = 0;
    fire.shard_total = 1;
    routes_pick(r, &fire, job.route, &group_of_three, &choice);
    assert_string_equal(choice.address, three[0]); /* who is there by now */
    assert_int_equal(choice.ask, ROUTE_ASK_NOBODY);
    routes_pick(r, &fire, job.route, &group_of_none, &choice);
    assert_null(choice.address);
    assert_non_null(strstr(choice.reason, "no executor of group app"));
    /* Planned as one fire, a broadcast since. */
    assert_string_equal(pick(r, 1, "SHARDING_BROADCAST", &group_of_three).address, three[0]);
    routes_destroy(r);
}

static void what_was_planned_is_kept_while_it_holds(void **state)
{
    enum { MANY = 300 };
    static char texts[MANY][40];
    static const char *many[MANY];
    struct routes *r = create_routes();
    struct registry_group group = {.id = 3, .app_name = "app", .addresses = many, .count = MANY};
    struct job_spec job = {.id = 1, .route = "ROUND", .route_hash = 5};
    char planned[40];
    uint64_t hash = 0;
    struct fire fire = {.job_id = 1, .written_ahead = true, .route_hash = 5, .address = planned, .job = &job};

    (void)state;
    for (int i = 0; i < MANY; i++) {
        snprintf(texts[i], sizeof texts[i], "http://host%d:1/", i);
        many[i] = texts[i];
    }
    for (int i = 0; i < MANY; i++) {
        strcpy(planned, texts[i]);
        assert_true(routes_can_keep(r, &fire, &group, &hash));
        assert_int_equal(hash, route_hash_address(planned));
    }
    strcpy(planned, "http://host300:1/");
    assert_false(routes_can_keep(r, &fire, &group, &hash));
    assert_int_equal(hash, route_hash_address(texts[MANY - 1]));
    fire.broadcast = true; /* has its address from the plan, listed or not */
    assert_true(routes_can_keep(r, &fire, &group, &hash));
    assert_int_equal(hash, route_hash_address(planned));
    fire.broadcast = false;
    strcpy(planned, "http://host7:1/");
    fire.route_hash = 6; /* the job has another route by now */
    assert_false(routes_can_keep(r, &fire, &group, &hash));
    fire.route_hash = 5;
    fire.written_ahead = false;
    assert_false(routes_can_keep(r, &fire, &group, &hash));
    fire.written_ahead = true;
    assert_false(routes_can_keep(r, &fire, NULL, &hash));

    many[7] = "http://new:1/"; /* the same array and count: only the text tells */
    routes_begin(r, 2000);
    assert_false(routes_can_keep(r, &fire, &group, &hash));
    group.count = 7;
    routes_begin(r, 2500);
    strcpy(planned, "http://host299:1/"); /* listed a round ago */
    assert_false(routes_can_keep(r, &fire, &group, &hash));
    strcpy(planned, "http://host7:1/");
    many[0] = planned;
    routes_begin(r, 3000);
    assert_true(routes_can_keep(r, &fire, &group, &hash));
    routes_destroy(r);
}

static const struct {
    const char *name;
    enum route_ask ask;
} all_routes[] = {
    {"FIRST", ROUTE_ASK_NOBODY},
    {"LAST", ROUTE_ASK_NOBODY},
    {"ROUND", ROUTE_ASK_NOBODY},
    {"RANDOM", ROUTE_ASK_NOBODY},
    {"CONSISTENT_HASH", ROUTE_ASK_NOBODY},
    {"LEAST_FREQUENTLY_USED", ROUTE_ASK_NOBODY},
    {"LEAST_RECENTLY_USED", ROUTE_ASK_NOBODY},
    {"FAILOVER", ROUTE_ASK_ALIVE},
    {"BUSYOVER", ROUTE_ASK_IDLE},
    {"SHARDING_BROADCAST", ROUTE_ASK_NOBODY},
};

static void what_cannot_be_routed_says_why(void **state)
{
    struct routes *r = create_routes();
    struct registry_group empty = {.id = 3, .app_name = "my-app"};

    (void)state;
    assert_null(pick(r, 1, "NO_SUCH", &group_of_three).address);
    assert_string_equal(pick(r, 1, "NO_SUCH", &group_of_three).reason, "unknown route strategy \"NO_SUCH\"");
    /* Old databases have jobs without one: the column allows NULL. The original leaves their rows open for ever. */
    assert_null(pick(r, 1, " ", &group_of_three).address);
    assert_string_equal(pick(r, 1, " ", &group_of_three).reason, "the job has no route strategy");
    assert_string_equal(pick(r, 1, NULL, &group_of_three).reason, "the job has no route strategy");
    assert_string_equal(pick(r, 1, "FIRST", NULL).reason, "no address: executor group 3 does not exist");
    assert_string_equal(pick(r, 1, "FIRST", &empty).reason, "no address: no executor of group my-app is registered");
    for (size_t i = 0; i < ARRAY_LEN(all_routes); i++) {
        struct route_choice choice = pick(r, 1, all_routes[i].name, &empty);
        assert_null(choice.address);
        assert_int_equal(choice.ask, ROUTE_ASK_NOBODY);
        assert_string_equal(choice.reason, "no address: no executor of group my-app is registered");
    }
    routes_destroy(r);
}

/* Those that ask have no address until somebody has answered. */
static void each_route_is_known_by_its_name_alone(void **state)
{
    struct routes *r = create_routes();
    char other[40];

    (void)state;
    for (size_t i = 0, k; i < route_count(); i++) {
        for (k = 0; k < ARRAY_LEN(all_routes) && strcmp(all_routes[k].name, route_name(i)) != 0; k++)
            continue;
        if (k == ARRAY_LEN(all_routes))
            fail_msg("all_routes lacks %s", route_name(i));
    }
    for (size_t i = 0; i < ARRAY_LEN(all_routes); i++) {
        struct route_choice choice = pick(r, 1, all_routes[i].name, &group_of_three);

        assert_int_equal(choice.ask, all_routes[i].ask);
        assert_true((choice.address == NULL) == (choice.ask != ROUTE_ASK_NOBODY));
        assert_string_equal(choice.reason, "");
        snprintf(other, sizeof other, "%s ", all_routes[i].name);
        assert_null(pick(r, 1, other, &group_of_three).address);
        snprintf(other, sizeof other, "%s", all_routes[i].name);
        other[0] = (char)(other[0] + 'a' - 'A');
        assert_null(pick(r, 1, other, &group_of_three).address);
    }
    routes_destroy(r);
}

static void names_are_known_exactly(void **state)
{
    (void)state;
    assert_true(route_is_broadcast("SHARDING_BROADCAST"));
    assert_false(route_is_broadcast("FIRST"));
    assert_false(route_is_broadcast(""));
    assert_false(route_is_broadcast(NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hash_vectors_pass_with_and_without_a_ring),
        cmocka_unit_test(a_ring_is_made_anew_for_another_list_only),
        cmocka_unit_test(the_route_follows_a_changed_list_in_the_next_round),
        cmocka_unit_test(rings_of_many_groups_do_not_mix),
        cmocka_unit_test(first_is_the_first),
        cmocka_unit_test(last_is_the_last),
        cmocka_unit_test(random_is_uniform_and_no_turn),
        cmocka_unit_test(round_goes_in_turn_for_each_job),
        cmocka_unit_test(round_starts_below_a_hundred_and_again_after_a_million),
        cmocka_unit_test(state_is_forgotten_after_a_day),
        cmocka_unit_test(least_recently_used_goes_by_age),
        cmocka_unit_test(least_frequently_used_evens_out),
        cmocka_unit_test(least_frequently_used_prefers_who_is_new),
        cmocka_unit_test(least_frequently_used_begins_anew_after_a_million),
        cmocka_unit_test(a_broadcast_goes_where_it_was_planned_for),
        cmocka_unit_test(what_was_planned_is_kept_while_it_holds),
        cmocka_unit_test(what_cannot_be_routed_says_why),
        cmocka_unit_test(each_route_is_known_by_its_name_alone),
        cmocka_unit_test(names_are_known_exactly),
    };
    return cmocka_run_group_tests_name("dispatch.route", tests, NULL, NULL);
}
