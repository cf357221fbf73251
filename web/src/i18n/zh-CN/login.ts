// SPDX-License-Identifier: MIT
export default {
  username: '账号',
  password: '密码',
  remember: '30 天内保持登录',
  submit: '登录',
  busy: '正在登录…',
  wrong: '账号或密码错误。',
  throttled: '登录失败次数过多，请在 {n} 秒后重试。',
  ended: '登录已过期',
  endedText: '请重新登录，本页内容不会丢失。',
}
