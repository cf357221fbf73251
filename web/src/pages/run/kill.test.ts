// SPDX-License-Identifier: MIT
import { expect, test } from 'vitest'
import { killTextOf } from './kill'

test('each block strategy has its words, what is unknown has some, too', () => {
  expect(killTextOf('SERIAL_EXECUTION')).toBe('serial')
  expect(killTextOf('DISCARD_LATER')).toBe('discard')
  expect(killTextOf('COVER_EARLY')).toBe('cover')
  expect(killTextOf(undefined)).toBe('other')
})
