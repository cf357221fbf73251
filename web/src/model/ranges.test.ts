// SPDX-License-Identifier: MIT
import { expect, test } from 'vitest'
import { rangeOf, readOwn, resolveRange, startOfDay } from './ranges'

const now = Date.parse('2026-11-22T16:30:00Z') // 00:30 of the 23rd in Shanghai

test('quick choices begin where their names say, in the zone on screen', () => {
  expect(resolveRange('any', { from: 'x' }, now, 'UTC')).toEqual({})
  expect(resolveRange('hour', {}, now, 'Asia/Shanghai')).toEqual({ from: '2026-11-22T15:30:00.000Z' })
  expect(resolveRange('today', {}, now, 'Asia/Shanghai')).toEqual({ from: '2026-11-22T16:00:00.000Z' })
  expect(resolveRange('today', {}, now, 'UTC')).toEqual({ from: '2026-11-22T00:00:00.000Z' })
  expect(resolveRange('yesterday', {}, now, 'Asia/Shanghai')).toEqual({
    from: '2026-11-21T16:00:00.000Z',
    to: '2026-11-22T15:59:59.000Z',
  })
  expect(resolveRange('week', {}, now, 'UTC')).toEqual({ from: '2026-11-15T16:30:00.000Z' })
})

test('yesterday has 25 hours where the clocks went back', () => {
  const monday = Date.parse('2026-10-26T09:00:00Z')
  expect(startOfDay(monday, 'Europe/Berlin')).toBe(Date.parse('2026-10-25T23:00:00Z'))
  expect(resolveRange('yesterday', {}, monday, 'Europe/Berlin')).toEqual({
    from: '2026-10-24T22:00:00.000Z',
    to: '2026-10-25T22:59:59.000Z',
  })
})

test('own times are taken as they are; a link may leave the range away', () => {
  expect(resolveRange('own', { to: 'b' }, now, 'UTC')).toEqual({ to: 'b' })
  expect(rangeOf('any', { from: 'a' })).toBe('own')
  expect(rangeOf('any', {})).toBe('any')
  expect(rangeOf('hour', { from: 'a' })).toBe('hour')
})

test('typed times are of the zone on screen', () => {
  expect(readOwn('2026-11-23 00:30', 'Asia/Shanghai')).toBe('2026-11-22T16:30:00.000Z')
  expect(readOwn('2026-11-23', 'Asia/Shanghai')).toBe('2026-11-22T16:00:00.000Z')
  expect(readOwn(' ', 'UTC')).toBe('')
  expect(readOwn('tomorrow', 'UTC')).toBeUndefined()
})
