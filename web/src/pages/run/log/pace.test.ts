// SPDX-License-Identifier: MIT
import { expect, test } from 'vitest'
import { pauseAfter, pauseBehindError } from './pace'

test('a long log is read on at once, a live one each second, a silent one more seldom', () => {
  expect(pauseAfter(9000, 0)).toBe(0)
  expect(pauseAfter(3, 0)).toBe(1000)
  expect([0, 4, 5, 29, 30, 900].map((quiet) => pauseAfter(0, quiet))).toEqual([1000, 1000, 2000, 2000, 5000, 5000])
})

test('failures are followed by longer and longer pauses, half a minute at most', () => {
  expect([1, 2, 3, 4, 5, 50].map(pauseBehindError)).toEqual([2000, 4000, 8000, 16_000, 30_000, 30_000])
})
