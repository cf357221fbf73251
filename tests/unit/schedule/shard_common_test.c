/* SPDX-License-Identifier: MIT */
/* One line when a step of a shard begins to fail, one when it works again, whatever other steps do meanwhile. */
#include "test.h"

#include "schedule/shard/shard_impl.h"

static void steps_fail_and_recover_apart(void **state)
{
    struct errctx ec;
    struct shard shard = {.number = 3};

    (void)state;
    log_set_level(LOG_ERROR);
    err_set(&ec, ERR_LOST, "the database is unavailable");
    shard_log_failure(&shard, STEP_SETTLE, &ec);
    shard_log_good(&shard, STEP_CLAIM);
    assert_int_equal(shard.failing, 1u << STEP_SETTLE); /* its next failure is no news */
    shard_log_failure(&shard, STEP_CLAIM, &ec);
    shard_log_good(&shard, STEP_SETTLE);
    assert_int_equal(shard.failing, 1u << STEP_CLAIM);
    shard_log_good(&shard, STEP_CLAIM);
    assert_int_equal(shard.failing, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(steps_fail_and_recover_apart)};

    return cmocka_run_group_tests_name("schedule.shard_common", tests, NULL, NULL);
}
