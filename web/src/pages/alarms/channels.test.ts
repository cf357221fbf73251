// SPDX-License-Identifier: MIT
import { describe, expect, it } from 'vitest'
import { adviseOn, changedBody, formOf, isUrl, newBody, type Channel } from './channels'

const ding: Channel = {
  id: 1,
  name: 'dingtalk',
  kind: 'dingtalk',
  host: 'https://oapi.dingtalk.com',
  groups: ['pay'],
  tags: [],
  quiet: null,
  hasSecret: true,
  changedAt: null,
  leftOut: null,
}

describe('a form', () => {
  it('becomes what is added', () => {
    const form = { ...formOf(null), url: ' https://h/x?key=1 ', secret: 'SEC', name: '' }
    expect(newBody(form)).toEqual({ kind: 'dingtalk', url: 'https://h/x?key=1', secret: 'SEC', groups: [] })
    expect(newBody({ ...form, kind: 'slack', name: 'ops' })).toEqual({
      kind: 'slack',
      url: 'https://h/x?key=1',
      name: 'ops',
      groups: [],
    })
  })
  it('changes what was typed, and nothing else', () => {
    expect(changedBody(formOf(ding), ding)).toEqual({})
    expect(changedBody({ ...formOf(ding), groups: [] }, ding)).toEqual({ groups: [] })
    expect(changedBody({ ...formOf(ding), dropSecret: true, secret: 'x' }, ding)).toEqual({ secret: null })
    expect(changedBody({ ...formOf(ding), secret: 'new' }, ding)).toEqual({ secret: 'new' })
  })
  it('forgets a secret that the new kind cannot use', () => {
    expect(changedBody({ ...formOf(ding), kind: 'slack', url: 'https://s/' }, ding)).toEqual({
      kind: 'slack',
      url: 'https://s/',
      secret: null,
    })
  })
})

it('takes addresses of http and https', () => {
  expect(['https://h', 'http://h:1/x?y', ' https://h/ '].map(isUrl)).toEqual([true, true, true])
  expect(['', 'h/x', 'ftp://h', 'https://', 'https://h x'].map(isUrl)).toEqual([false, false, false, false, false])
})

it('says what usually helps', () => {
  expect(adviseOn('HTTP status 404: no_team')).toBe('gone')
  expect(adviseOn('the name hooks.test has no address: Name or service not known')).toBe('name')
  expect(adviseOn('Failed to connect to 127.0.0.1 port 1 after 0 ms')).toBe('connect')
  expect(adviseOn('SSL certificate problem: self-signed certificate')).toBe('certificate')
  expect(adviseOn('code 310000: sign not match')).toBe('key')
  expect(adviseOn('HTTP status 429: rate_limited')).toBe('busy')
  expect(adviseOn('the name m leads to addresses that may not be called')).toBe('forbidden')
  expect(adviseOn('HTTP status 500: oops')).toBe('other')
})

it('tags and quiet hours are sent where they differ', () => {
  const form = { ...formOf(ding), tags: ['night'], quiet: ' 22:00-07:00 ' }
  expect(changedBody(form, ding)).toEqual({ tags: ['night'], quiet: '22:00-07:00' })
  expect(changedBody({ ...form, tags: [], quiet: '' }, { ...ding, tags: ['night'], quiet: '22:00-07:00' })).toEqual({
    tags: [],
    quiet: null,
  })
  expect(newBody({ ...form, url: 'https://a/' })).toMatchObject({ tags: ['night'], quiet: '22:00-07:00' })
})
