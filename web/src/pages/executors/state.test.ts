// SPDX-License-Identifier: MIT
import { expect, test } from 'vitest'
import type { Group } from './group'
import { chooseGroups, stateOfExecutor, stateOfGroup, type Executor } from './state'

const now = Date.parse('2026-01-01T00:01:40Z')
const executor: Executor = {
  address: 'http://a:1/',
  lastBeat: '2026-01-01T00:01:30Z',
  listed: true,
  path: '/run',
  runsUnderWay: 0,
  failuresHour: 0,
  lastFailureAt: null,
}
const group: Group = {
  id: 1,
  appname: 'orders',
  title: 'Orders',
  addressType: 'auto',
  addressList: ['http://a:1/'],
  hasAccessToken: false,
  updateTime: null,
}

test('an executor is online, overdue, gone, or nobody knows', () => {
  expect(stateOfExecutor(executor, 'auto', now)).toBe('online')
  expect(stateOfExecutor({ ...executor, lastBeat: '2026-01-01T00:00:30Z' }, 'auto', now)).toBe('quiet')
  expect(stateOfExecutor({ ...executor, lastBeat: null }, 'auto', now)).toBe('silent')
  expect(stateOfExecutor({ ...executor, lastBeat: null }, 'manual', now)).toBe('byHand')
  expect(stateOfExecutor({ ...executor, listed: false }, 'auto', now)).toBe('leaving')
})

test('groups are found by title, app name and address, and by how they are', () => {
  const empty: Group = { ...group, id: 2, appname: 'mail', title: '邮件', addressList: [] }
  const byHand: Group = { ...group, id: 3, appname: 'old', addressType: 'manual' }
  const ids = (text: string, show: '' | 'online' | 'offline' | 'manual') =>
    chooseGroups([group, empty, byHand], { text, show }).map((g) => g.id)
  expect([stateOfGroup(group), stateOfGroup(empty), stateOfGroup(byHand)]).toEqual(['online', 'empty', 'byHand'])
  expect(ids('', '')).toEqual([1, 2, 3])
  expect(ids(' ORDERS', '')).toEqual([1, 3])
  expect(ids('邮', '')).toEqual([2])
  expect(ids('//a:', 'online')).toEqual([1])
  expect(ids('', 'offline')).toEqual([2])
  expect(ids('', 'manual')).toEqual([3])
})
