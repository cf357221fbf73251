// SPDX-License-Identifier: MIT
export default {
  username: 'User name',
  password: 'Password',
  remember: 'Stay logged in for 30 days',
  submit: 'Log in',
  busy: 'Logging in…',
  wrong: 'User name or password is wrong.',
  throttled: 'Too many failed logins. Try again in {n} s.',
  ended: 'Your session has expired',
  endedText: 'Log in again. Nothing on this page is lost.',
}
