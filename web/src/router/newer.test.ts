// SPDX-License-Identifier: MIT
import { expect, test } from 'vitest'
import { mayReload } from './newer'

test('a window is loaded anew once in a while', () => {
  const now = 1_800_000_000_000
  expect(mayReload(null, now)).toBe(true)
  expect(mayReload(String(now - 1000), now)).toBe(false)
  expect(mayReload(String(now), now)).toBe(false)
  expect(mayReload(String(now - 20_000), now)).toBe(true)
  expect(mayReload(String(now + 60_000), now)).toBe(true) // the clock was set back
  expect(mayReload('broken', now)).toBe(true)
})
