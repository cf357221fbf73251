/* SPDX-License-Identifier: MIT */
/* The state of a row, as a function and as a condition: what one says the other must. */
#include "store/run/states.h"

#include <string.h>

#include "shardwheel/job/codes.h"
#include "shardwheel/store/lost.h"
#include "store/later/later.h"

#define MARK "<!--sw:"
#define PLANNED_MARK "<!--sw:p:"
#define SKIPPED_MARK "<!--sw:s:"
#define UNKNOWN_TEXT "delivery unknown: "

#define OPEN "trigger_code = 0 AND handle_code = 0"
#define NOT_SENT "trigger_code NOT IN (0, 200) AND handle_code = 0"
#define HAS_UNKNOWN "trigger_msg LIKE '" MARK "%' AND LOCATE('" UNKNOWN_TEXT "', trigger_msg) > 0"
#define IS_SKIPPED "trigger_code = 500 AND trigger_msg LIKE '" SKIPPED_MARK "%'"
#define IS_LOST "handle_code = 500 AND handle_msg LIKE '" LOST_MARK "%'"

static const struct {
    const char *name;
    const char *sql;
} states[RUN_STATES] = {
    [RUN_PLANNED] = {"planned", OPEN " AND trigger_msg LIKE '" PLANNED_MARK "%'"},
    [RUN_SENDING] = {"sending", OPEN " AND COALESCE(trigger_msg, '') NOT LIKE '" PLANNED_MARK
                                     "%' AND COALESCE(trigger_msg, '') NOT LIKE '" LATER_HELD_MARK "%'"},
    [RUN_WAITING] = {"waiting", OPEN " AND trigger_msg LIKE '" LATER_HELD_MARK "%'"},
    [RUN_RUNNING] = {"running", "trigger_code = 200 AND handle_code = 0"},
    [RUN_SUCCESS] = {"success", "handle_code = 200"},
    [RUN_FAILED] = {"failed", "(handle_code NOT IN (0, 200) AND NOT COALESCE(" IS_LOST ", FALSE)) OR (" NOT_SENT
                              " AND NOT COALESCE(" IS_SKIPPED ", FALSE) AND NOT COALESCE(" HAS_UNKNOWN ", FALSE))"},
    [RUN_LOST] = {"lost", IS_LOST},
    [RUN_UNKNOWN] = {"unknown", NOT_SENT " AND " HAS_UNKNOWN " AND NOT (" IS_SKIPPED ")"},
    [RUN_SKIPPED] = {"skipped", NOT_SENT " AND " IS_SKIPPED},
};

const char *run_state_name(enum run_state state)
{
    return states[state].name;
}

static bool begins_with(const char *text, const char *head)
{
    return text && strncmp(text, head, strlen(head)) == 0;
}

enum run_state run_state_find(int trigger_code, int handle_code, const char *trigger_msg, const char *handle_msg)
{
    if (handle_code == CODE_OK)
        return RUN_SUCCESS;
    if (handle_code != CODE_OPEN)
        return handle_code == CODE_FAILED && begins_with(handle_msg, LOST_MARK) ? RUN_LOST : RUN_FAILED;
    if (trigger_code == CODE_OK)
        return RUN_RUNNING;
    if (trigger_code == CODE_OPEN)
        return begins_with(trigger_msg, PLANNED_MARK)      ? RUN_PLANNED
               : begins_with(trigger_msg, LATER_HELD_MARK) ? RUN_WAITING
                                                           : RUN_SENDING;
    if (trigger_code == CODE_FAILED && begins_with(trigger_msg, SKIPPED_MARK))
        return RUN_SKIPPED;
    return begins_with(trigger_msg, MARK) && strstr(trigger_msg, UNKNOWN_TEXT) ? RUN_UNKNOWN : RUN_FAILED;
}

void run_states_put(struct sqlbuf *q, unsigned mask)
{
    const char *joint = "(";

    for (size_t i = 0; i < RUN_STATES; i++) {
        if (!(mask & (1u << i)))
            continue;
        sql_put(q, "?(?)", sql_word(joint), sql_word(states[i].sql));
        joint = " OR ";
    }
    sql_puts(q, *joint == '(' ? "(FALSE)" : ")");
}

void run_states_put_number(struct sqlbuf *q)
{
    /* Most rows first: what stands behind is not looked at. */
    static const enum run_state order[] = {RUN_SUCCESS, RUN_RUNNING, RUN_PLANNED, RUN_WAITING, RUN_SENDING,
                                           RUN_SKIPPED, RUN_LOST,    RUN_UNKNOWN, RUN_FAILED};

    sql_puts(q, "CASE");
    for (size_t i = 0; i < ARRAY_LEN(order); i++)
        sql_put(q, " WHEN ? THEN ?", sql_word(states[order[i]].sql), order[i]);
    sql_put(q, " ELSE ? END", RUN_FAILED);
}

bool run_states_are_rare(unsigned mask)
{
    return mask != 0 && !(mask & (1u << RUN_SUCCESS));
}

/* By the codes alone, which an index of handle_code narrows down. */
const char run_states_not_success[] = "(handle_code < 200 OR handle_code > 200)";
