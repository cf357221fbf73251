// SPDX-License-Identifier: MIT
import { expect, test } from 'vitest'
import { moveRow } from './rowKeys'

test('arrows go row by row and stay inside the list', () => {
  const rows = ['a', 'b', 'c'] as unknown as HTMLElement[]
  expect(moveRow(rows, 0, 'ArrowDown')).toBe('b')
  expect(moveRow(rows, 2, 'ArrowDown')).toBe('c')
  expect(moveRow(rows, 1, 'ArrowUp')).toBe('a')
  expect(moveRow(rows, 0, 'ArrowUp')).toBe('a')
  expect(moveRow(rows, 1, 'Home')).toBe('a')
  expect(moveRow(rows, 0, 'End')).toBe('c')
  expect(moveRow(rows, 0, 'x')).toBeUndefined()
})
