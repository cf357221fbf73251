// SPDX-License-Identifier: MIT
import { expect, test } from 'vitest'
import { checkTime, makeOrder, soon } from './order'

test('what is not said is left to the job', () => {
  expect(makeOrder({ param: undefined, addresses: [], at: '', zone: 'UTC' })).toEqual({})
  expect(makeOrder({ param: '', addresses: [' '], at: '', zone: 'UTC' })).toEqual({ executorParam: '' })
})

test('addresses and a time in its zone', () => {
  expect(makeOrder({ param: 'x', addresses: [' http://a:1/ '], at: '2026-11-23T00:00', zone: 'Asia/Shanghai' })).toEqual({
    executorParam: 'x',
    addressList: ['http://a:1/'],
    at: '2026-11-22T16:00:00.000Z',
  })
})

test('a time that is over, or none', () => {
  const now = Date.parse('2026-11-22T16:00:00.500Z')
  expect(checkTime('', 'UTC', now)).toBe('none')
  expect(checkTime('2026-11-22T16:00', 'UTC', now)).toBe('none')
  expect(checkTime('2026-11-22T15:59:59', 'UTC', now)).toBe('past')
  expect(checkTime('soon', 'UTC', now)).toBe('unreadable')
  expect(soon('Asia/Shanghai', now)).toBe('2026-11-23T00:05')
})
