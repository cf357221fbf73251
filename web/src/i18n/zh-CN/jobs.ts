// SPDX-License-Identifier: MIT
export default {
  now: {
    title: '执行一次：{name}',
    own: '恢复任务自身的参数',
    addresses: '地址',
    anyAddress: '按路由策略（{route}）',
    nobody: '该执行器没有已注册的地址：除非手动指定地址，否则本次执行会失败。',
    atOnce: '立即',
    atTime: '指定时间',
    unreadable: '请填写日期和时间。',
    past: '该时间已过。',
    later: '将在以下时间下发：',
    takeBack: '撤回',
    again: '再执行一次',
    more: '以及另外 {n} 次运行',
  },
  remove: {
    title: '删除任务 {name}？',
    text: '任务的运行记录、GLUE 版本和等待中的触发会一并删除，且无法恢复。',
  },
}
