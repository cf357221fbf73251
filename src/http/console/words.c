/* SPDX-License-Identifier: MIT */
#include "http/console/words.h"

struct row {
    const char *text[LANGS];
    const char *of_d[LANGS]; /* where D says something else; NULL: it does not */
};

#define ROW(cn, tc, en)                                                                                                \
    {                                                                                                                  \
        .text = { cn, tc, en }                                                                                         \
    }
#define SAME(t) ROW(t, t, t)

static const struct row rows[SAYS] = {
    [SAY_END] = SAME(""),
    [SAY_PLEASE_INPUT] = ROW("请输入", "請輸入", "please input "),
    [SAY_PLEASE_CHOOSE] = ROW("请选择", "請選擇", "please choose "),
    [SAY_INVALID] = ROW("非法", "非法", "illegal"),
    [SAY_NOT_FOUND] = ROW("不存在", "不存在", "not exist"),
    [SAY_LENGTH_LIMIT] = {{"长度限制", "長度限制", "Length limit"}, {"长度限制为", "長度限制為", "Length limit"}},
    [SAY_PERMISSION_LIMIT] = ROW("权限拦截", "權限攔截", "Permission limit"),
    [SAY_ONE] = ROW("一条", "一條", "One"),
    [SAY_DATA] = ROW("数据", "數據", "Data"),
    [SAY_REPEAT] = ROW("重复", "重複", "Repeat"),
    [SAY_LOGIN_EMPTY] = ROW("账号或密码为空", "賬號或密碼為空", "Username or password is empty"),
    [SAY_LOGIN_INVALID] = ROW("账号或密码错误", "賬號或密碼錯誤", "Username or password error"),
    [SAY_OLD_PASSWORD] = ROW("旧密码", "舊密碼", "old password"),
    [SAY_JOB] = ROW("任务", "任務", "Job"),
    [SAY_JOB_ID] = ROW("任务ID", "任務ID", "Job ID"),
    [SAY_JOB_GROUP] = ROW("执行器", "執行器", "Executor"),
    [SAY_JOB_DESC] = {{"任务描述", "任務描述", "Job description"}, {"任务名称", "任務名稱", "Job name"}},
    [SAY_AUTHOR] = ROW("负责人", "負責人", "Author"),
    [SAY_GLUE_TYPE] = ROW("运行模式", "運行模式", "GLUE Type"),
    [SAY_ROUTE_STRATEGY] = ROW("路由策略", "路由策略", "Route Strategy"),
    [SAY_BLOCK_STRATEGY] = ROW("阻塞处理策略", "阻塞處理策略", "Block Strategy"),
    [SAY_CHILD_JOB_ID] = ROW("子任务ID", "子任務ID", "Child Job ID"),
    [SAY_MISFIRE_STRATEGY] = ROW("调度过期策略", "調度過期策略", "Misfire strategy"),
    [SAY_SCHEDULE_TYPE] = ROW("调度类型", "調度類型", "Schedule Type"),
    [SAY_TYPE_CANNOT_START] =
        ROW("当前调度类型禁止启动", "當前調度類型禁止啟動", "The current schedule type disables startup"),
    [SAY_JOB_ID_INVALID] = ROW("任务ID非法", "任務ID非法", "Job ID is illegal"),
    [SAY_NO_GLUE_TYPE] = ROW("该任务非GLUE模式", "該任務非GLUE模式", "The job is not GLUE Type"),
    [SAY_GLUE_SOURCE] = ROW("GLUE源码", "GLUE源碼", "GLUE Source"),
    [SAY_GLUE_REMARK] = ROW("源码备注", "源碼備註", "Resource Remark"),
    [SAY_GLUE_REMARK_LIMIT] = {{"源码备注长度限制为4~100", "源碼備註長度限制為4~100",
                                "Resource Remark length is limited to 4~100"},
                               {"源码备注长度限制为 4~100", "源碼備註長度限制為 4~100",
                                "Resource RemarkLength limit 4~100"}},
    [SAY_LOG_ID_INVALID] = ROW("日志ID非法", "日誌ID非法", "Log ID is illegal"),
    [SAY_CLEAN_TYPE_INVALID] = ROW("清理类型参数异常", "清理類型參數異常", "Clean type is illegal"),
    [SAY_CANNOT_KILL] = ROW("调度失败，无法终止日志", "調度失敗，無法終止日誌", "Trigger Fail, can not kill job"),
    [SAY_KILLED_BY_HAND] = ROW("人为操作，主动终止", "人為操作，主動終止", "Manual operation, kill job"),
    [SAY_GROUP_TITLE] = {{"名称", "名稱", "Title"}, {"执行器名称", "執行器名稱", "Executor Name"}},
    [SAY_ADDRESSES] = ROW("机器地址", "機器地址", "machine address"),
    [SAY_APP_NAME_LENGTH] = {{"AppName长度限制为4~64", "AppName長度限制為4~64", "AppName length is limited to 4~64"},
                             {"AppName 长度限制为4~64", "AppName 長度限制為4~64", "AppName Length limit4~64"}},
    [SAY_ADDRESSES_EMPTY] = ROW("手动录入注册方式，机器地址不可为空", "手動錄入註冊方式，機器地址不可為空",
                                "Manually registration type, the machine address must not be empty"),
    [SAY_ADDRESSES_INVALID] = ROW("机器地址格式非法", "機器地址格式非法", "registry machine address is illegal"),
    [SAY_GROUP_IN_USE] =
        ROW("拒绝删除，该执行器使用中", "拒絕刪除，該執行器使用中", "Refuse to delete, the executor is being used"),
    [SAY_GROUP_LAST] = ROW("拒绝删除, 系统至少保留一个执行器", "拒絕刪除, 系統至少保留一個執行器",
                           "Refuses to delete, the system retains at least one executor"),
    [SAY_NO_GROUP] = ROW("不存在有效执行器,请联系管理员", "不存在有效執行器,請聯繫管理員",
                         "There is no valid executor. Please contact the administrator"),
    [SAY_USER_NAME] = ROW("账号", "賬號", "Username"),
    [SAY_PASSWORD] = ROW("密码", "密碼", "Password"),
    [SAY_USER_NAME_REPEAT] = ROW("账号重复", "賬號重複", "Username Repeat"),
    [SAY_USER_SELF] =
        ROW("禁止操作当前登录账号", "禁止操作當前登錄賬號", "Operation of current login account is not allowed"),
    [SAY_APP_NAME] = SAME("AppName"),
    [SAY_JOB_HANDLER] = SAME("JobHandler"),
    [SAY_CRON] = SAME("Cron"),
    [SAY_BLANK] = SAME(" "),
    [SAY_BOUNDS] = SAME("[4-20]"),
    [SAY_TWO] = SAME("[2]"),
};

const char *say_get(enum lang lang, enum dialect dialect, enum say what)
{
    const char *of_d = rows[what].of_d[lang];

    return dialect == DIALECT_D && of_d ? of_d : rows[what].text[lang];
}
