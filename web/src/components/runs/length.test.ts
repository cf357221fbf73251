// SPDX-License-Identifier: MIT
import { expect, test } from 'vitest'
import { barOf, lengthOf } from './length'

const now = Date.parse('2026-11-22T10:00:10Z')
const run = { state: 'running' as const, triggerTime: '2026-11-22T10:00:03.000Z', durationSeconds: null }

test('a run takes what it took, or the time so far', () => {
  expect(lengthOf(run, now)).toBe(7000)
  expect(lengthOf({ ...run, state: 'success', durationSeconds: 3 }, now)).toBe(3000)
  expect(lengthOf({ ...run, state: 'failed' }, now)).toBeUndefined()
  expect(lengthOf({ ...run, state: 'planned' }, now)).toBeUndefined()
  expect(lengthOf({ ...run, triggerTime: null }, now)).toBeUndefined()
})

test('bars are shares of the longest, and always seen', () => {
  expect(barOf(5000, 10_000)).toBe(50)
  expect(barOf(1, 10_000)).toBe(2)
  expect(barOf(0, 0)).toBe(0)
  expect(barOf(undefined, 10)).toBe(0)
  expect(barOf(20, 10)).toBe(100)
})
