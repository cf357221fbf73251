/* SPDX-License-Identifier: MIT */
#include "shardwheel/job/words.h"

#include <string.h>

static const char *const words[WORDS][LANGS] = {
    [WORD_TRIGGER_TYPE] = {"触发类型", "觸發類型", "trigger type"},
    [WORD_DUE] = {"应触发时间", "應觸發時間", "due"},
    [WORD_NODE] = {"节点", "節點", "node"},
    [WORD_ADMIN_ADDRESS] = {"调度中心地址", "調度中心位址", "admin address"},
    [WORD_ADDRESS_TYPE] = {"地址来源", "位址來源", "address type"},
    [WORD_AUTOMATIC] = {"自动", "自動", "automatic"},
    [WORD_MANUAL] = {"手动", "手動", "manual"},
    [WORD_ADDRESSES] = {"地址列表", "位址清單", "addresses"},
    [WORD_NO_GROUP] = {"执行器不存在", "執行器不存在", "the executor group does not exist"},
    [WORD_MORE] = {", 另有 %1 个", ", 另有 %1 個", ", and %1 more"},
    [WORD_ROUTE] = {"路由策略", "路由策略", "route"},
    [WORD_BLOCK] = {"阻塞处理策略", "阻塞處理策略", "block strategy"},
    [WORD_TIMEOUT] = {"超时", "逾時", "timeout"},
    [WORD_RETRIES] = {"剩余重试", "剩餘重試", "retries"},
    [WORD_RUN] = {"执行", "執行", "trigger run"},
    [WORD_ADDRESS] = {"执行器地址", "執行器位址", "executor address"},
    [WORD_HANDLER] = {"JobHandler", "JobHandler", "handler"},
    [WORD_PARAM] = {"参数", "參數", "parameter"},
    [WORD_RESULT] = {"结果", "結果", "result"},
    [WORD_REFUSED] = {"执行器拒绝", "執行器拒絕", "refused by the executor"},
    [WORD_FAILED] = {"失败", "失敗", "failed"},
    [WORD_REASON] = {"原因", "原因", "reason"},
    [WORD_RETRIED] = {"失败重试: 日志 %1", "失敗重試: 日誌 %1", "retry: sent again as log %1"},
    [WORD_RETRY_AT] = {"失败重试: ", "失敗重試: ", "retry: at "},
    [WORD_SKIPPED] = {"跳过 %1 次调度: ", "跳過 %1 次調度: ", "due times skipped: %1: "},
    [WORD_SKIPPED_MORE] = {"至少跳过 %1 次调度: ", "至少跳過 %1 次調度: ", "due times skipped: at least %1: "},
    [WORD_WRITTEN_AGAIN] =
        {"数据库切换时丢失了该记录, 调度中心已补写, 不会重试<br>",
         "資料庫切換時遺失了該記錄, 調度中心已補寫, 不會重試<br>",
         "written again: the database lost this when it went over to another server; not retried<br>"},
    [WORD_SKIPPED_LATE] = {"未能按时调度, 调度过期策略 ", "未能按時調度, 調度過期策略 ",
                           "not planned in time, misfire strategy "},
    [WORD_SKIPPED_BY_HAND] = {"下次触发时间被设为过去, 调度过期策略 ", "下次觸發時間被設為過去, 調度過期策略 ",
                              "the next time was set into the past, misfire strategy "},
    [WORD_SKIPPED_RESTORED] = {"数据库已从备份恢复, 这些调度可能已执行, 不再补发",
                               "資料庫已從備份還原, 這些調度可能已執行, 不再補發",
                               "the database was restored from a backup: they may have run, and are not sent again"},
    [WORD_CHILDREN] = {"子任务", "子任務", "child jobs"},
    [WORD_CHILD_TRIGGERED] = {"任务 %1 已触发, 日志 %2", "任務 %1 已觸發, 日誌 %2", "job %1 triggered as log %2"},
    [WORD_CHILD_UNKNOWN] = {"任务 %1 不存在", "任務 %1 不存在", "job %1 does not exist"},
    [WORD_CHILD_ILLEGAL] = {"不是任务ID: ", "不是任務ID: ", "no job id: "},
    [WORD_CHILD_TOO_DEEP] = {"任务 %1 未触发: 子任务已达 %2 代", "任務 %1 未觸發: 子任務已達 %2 代",
                             "job %1 not triggered: %2 generations of children are the most"},
};

static const char *const kinds[TRIGGER_KINDS][LANGS] = {
    [TRIGGER_CRON] = {"定时", "定時", "cron"},           [TRIGGER_MISFIRE] = {"过期补偿", "過期補償", "misfire"},
    [TRIGGER_RETRY] = {"失败重试", "失敗重試", "retry"}, [TRIGGER_MANUAL] = {"手动", "手動", "manual"},
    [TRIGGER_PARENT] = {"父任务", "父任務", "parent"},   [TRIGGER_API] = {"API", "API", "api"},
    [TRIGGER_FLOW] = {"流程", "流程", "flow"},
};

enum lang lang_parse(const char *name)
{
    if (strcmp(name, "en") == 0)
        return LANG_EN;
    return strcmp(name, "zh_TC") == 0 ? LANG_ZH_TC : LANG_ZH_CN;
}

const char *word_get(enum lang lang, enum word word)
{
    return words[word][lang];
}

void word_put(struct buf *out, enum lang lang, enum word word, long long first, long long second)
{
    for (const char *at = words[word][lang]; *at; at++) {
        if (*at == '%' && (at[1] == '1' || at[1] == '2'))
            buf_put_int(out, *++at == '1' ? first : second);
        else
            buf_putc(out, *at);
    }
}

const char *word_get_kind(enum lang lang, enum trigger_kind kind)
{
    return kinds[kind][lang];
}

void words_put_heading(struct buf *out, const char *title)
{
    buf_puts(out, "<br><br><span style=\"color:#00c0ef;\" > >>>>>>>>>>>");
    buf_puts(out, title);
    buf_puts(out, "<<<<<<<<<<< </span><br>");
}
