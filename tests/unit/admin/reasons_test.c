/* SPDX-License-Identifier: MIT */
/* Why a run did not go well, as a code: the words of nodes, executors and Java admins. */
#include "shardwheel/admin/reasons.h"
#include "shardwheel/job/codes.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

#define SHORT "<!--sw:p:5:1-->trigger type: cron<br>node: a<br>result: refused by the executor<br>code: 500<br>msg: "
#define HEADING "<br><br><span style=\"color:#00c0ef;\" > >>>>>>>>>>>触发调度<<<<<<<<<<< </span><br>"
#define FULL                                                                                                           \
    "触发类型：Cron触发<br>调度机器：10.0.0.1" HEADING "触发调度：<br>address：http://a:9999/<br>code：500<br>msg："
#define NODE "<!--sw:p:5:1-->触发类型: 定时<br>结果: 失败<br>code: 500<br>原因: "

static struct buf value;

/* "code value", by the row's texts as they stand there. */
static const char *find(int trigger_code, int handle_code, const char *trigger_msg, const char *handle_msg)
{
    static char out[200];
    struct run_said said = {.handle_code = handle_code, .trigger_msg = trigger_msg, .handle_msg = handle_msg};
    enum run_reason reason;

    buf_clear(&value);
    said.state = run_state_find(trigger_code, handle_code, trigger_msg, handle_msg);
    reason = run_find_reason(&said, &value);
    snprintf(out, sizeof out, "%s%s%s", run_reason_name(reason), value.len ? " " : "", value.len ? value.data : "");
    return out;
}

static void what_was_not_sent(void **state)
{
    static const struct {
        const char *says, *reason;
    } table[] = {
        {NODE "not sent: Connection refused", "connection-refused"},
        {NODE "not sent: cannot connect: no answer in time", "connect-timeout"},
        {NODE "not sent: its host name has no address: Name or service not known", "host-unknown"},
        {NODE "not sent: its host name could not be looked up in time", "host-unknown"},
        {NODE "not sent: No route to host", "unreachable"},
        {NODE "no answer within 3000 ms; the executor may have taken it", "no-answer"},
        {NODE "not sent: too late", "too-late"},
        {NODE "no address: no executor of group orders is registered", "no-executor"},
        {NODE "no address: executor group 7 does not exist", "no-group"},
        {"<!--sw:p:5:1-->结果：error, not sent: Connection refused", "connection-refused"},
        {SHORT "the executor answered with HTTP status 503: busy", "http-status 503"},
        {FULL "the executor answered with HTTP status 404", "http-status 404"},
        {SHORT "the executor's answer has no code: {}", "bad-answer"},
        {FULL "xxl-job remoting error(Connection refused), for url : http://a:9999/run", "connection-refused"},
        {FULL "Http Request Error (Connection refused). for url : http://a:9999/run", "connection-refused"},
        {FULL "xxl-job remoting fail, StatusCode(502) invalid. for url : http://a:9999/run", "http-status 502"},
        {FULL "Http Request fail, statusCode(500) for url : http://a:9999/run", "http-status 500"},
        {SHORT "block strategy effect：Discard Later", "block-discard-later"},
        {FULL "block strategy effect：Discard Later", "block-discard-later"},
        {SHORT "job handler [pay&lt;All&gt;] not found.", "no-handler pay<All>"},
        {FULL "job handler [pay] not found.<br><br><span style=\"color:#F39C12;\" > >>>失败重试<<< </span><br>",
         "no-handler pay"},
        {SHORT "job handler [] not found.", "none"},
        {SHORT "repeate trigger job, logId:77", "repeated"},
        {SHORT "repeat trigger job, logId:77", "repeated"},
        {SHORT "The access token is wrong.", "wrong-token"},
        {SHORT "invalid request, accessToken or appname invalid.", "wrong-token"},
        {SHORT "invalid request, uri-mapping(/run) not found.", "unknown-path /run"},
        {SHORT "fail, current glue type [GLUE(Shell)] not supported.", "type-not-supported GLUE(Shell)"},
        {SHORT "glueType[GLUE_X] is not valid.", "type-not-supported GLUE_X"},
        {"<!--sw:d:ab:5:R-->delivery unknown: the node that was to send it has ended", "delivery-unknown"},
        /* What a program says is not ours to know. */
        {SHORT "my service: Connection refused", "none"},
        {SHORT "no job handler [pay] not found.", "none"},
        {SHORT "", "none"},
        {"", "none"},
        {NULL, "none"},
    };
    (void)state;

    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        if (strcmp(find(500, CODE_OPEN, table[i].says, NULL), table[i].reason) != 0)
            fail_msg("%zu: %s", i, find(500, CODE_OPEN, table[i].says, NULL));
}

static void what_ended_badly(void **state)
{
    static const struct {
        int code;
        const char *says, *reason;
    } table[] = {
        {500, "block strategy effect：Cover Early [job running, killed]", "block-cover-early"},
        {500, "block strategy effect：Cover Early [job not executed, in the job queue, killed.]", "block-cover-early"},
        {502, "job execute timeout ", "time-limit"},
        {502, "", "time-limit"},
        {502, NULL, "time-limit"},
        {502, "TimeoutError", "time-limit"},
        {500, "killed by hand (ann): Success", "killed ann"},
        {500, "人为操作，主动终止：", "killed"},
        {500, "scheduling center kill job. [job running, killed]", "killed"},
        {500, "the flow run was cancelled: Success", "flow-cancelled"},
        {500, "web container destroy and kill the job. [job running, killed]", "executor-stopped"},
        {500, "job handle result lost.", "no-result"},
        {500, "script exit value(3) is failed", "script-exit 3"},
        {500, "script exit value(-1) is failed", "script-exit -1"},
        {500, "script exit value(3", "none"},
        {500, "<!--sw:l-->lost: no result came within 10 minutes, and the executor's address is not registered",
         "lost-unregistered"},
        {500, "<!--sw:l-->lost: the executor has left, and no result came", "lost-left"},
        {500,
         "<!--sw:l-->lost: the executor says that the job is idle there, and no result came; not sent again: that "
         "was done 3 times",
         "lost-idle"},
        {500, "<!--sw:l-->lost in another way", "lost"},
        {500, "<!--", "none"},
        {500, "java.net.ConnectException: Connection refused", "none"},
        {500, "the service says: job handler [x] not found.", "none"},
        {200, "job execute timeout ", "none"},
    };
    (void)state;

    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        if (strcmp(find(200, table[i].code, "x", table[i].says), table[i].reason) != 0)
            fail_msg("%zu: %s", i, find(200, table[i].code, "x", table[i].says));
    assert_string_equal(find(200, CODE_OPEN, "not sent: Connection refused", NULL), "none");    /* it runs */
    assert_string_equal(find(500, CODE_OPEN, "<!--sw:s:3-->not sent: too late", NULL), "none"); /* skipped */
}

static void a_value_has_a_bound(void **state)
{
    struct buf text = {0};
    (void)state;

    buf_puts(&text, SHORT "job handler [");
    for (int i = 0; i < 1000; i++)
        buf_putc(&text, 'x');
    buf_puts(&text, "] not found.");
    assert_string_equal(find(500, CODE_OPEN, text.data, NULL), "none");
    buf_fini(&text);
}

static int end(void **state)
{
    (void)state;
    buf_fini(&value);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_not_sent),
        cmocka_unit_test(what_ended_badly),
        cmocka_unit_test(a_value_has_a_bound),
    };

    return cmocka_run_group_tests(tests, NULL, end);
}
