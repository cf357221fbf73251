// SPDX-License-Identifier: MIT
export default {
  username: '帳號',
  password: '密碼',
  remember: '30 天內保持登入',
  submit: '登入',
  busy: '登入中…',
  wrong: '帳號或密碼錯誤。',
  throttled: '登入失敗次數過多，請在 {n} 秒後再試。',
  ended: '登入已逾期',
  endedText: '請重新登入，本頁內容不會遺失。',
}
