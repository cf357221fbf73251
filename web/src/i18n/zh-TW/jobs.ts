// SPDX-License-Identifier: MIT
export default {
  now: {
    title: '執行一次：{name}',
    own: '還原任務本身的參數',
    addresses: '位址',
    anyAddress: '依路由策略（{route}）',
    nobody: '此執行器沒有已註冊的位址：除非手動指定位址，否則這次執行會失敗。',
    atOnce: '立即',
    atTime: '指定時間',
    unreadable: '請填寫日期與時間。',
    past: '該時間已過。',
    later: '將於以下時間派送：',
    takeBack: '撤回',
    again: '再執行一次',
    more: '以及另外 {n} 次執行',
  },
  remove: {
    title: '刪除任務 {name}？',
    text: '任務的執行紀錄、GLUE 版本和等待中的觸發會一併刪除，且無法復原。',
  },
}
