// SPDX-License-Identifier: MIT
import { expect, test } from 'vitest'
import { countOf, isSelected, NOTHING, toggle, toggleLoaded } from './selection'

const ROWS = [5, 4, 3, 2, 1]

test('one by one, and with shift a range either way', () => {
  const one = toggle(NOTHING, ROWS, 4)
  expect([...one.ids]).toEqual([4])
  expect([...toggle(one, ROWS, 2, 4).ids]).toEqual([4, 3, 2])
  expect([...toggle(one, ROWS, 5, 4).ids].sort()).toEqual([4, 5])
  expect(toggle(one, ROWS, 4).ids.size).toBe(0)
})

test('all that match are more than those loaded', () => {
  const all = { all: true, ids: new Set<number>() }
  expect(countOf(all, 1204)).toBe(1204)
  expect(isSelected(all, 77)).toBe(true)
  const less = toggle(all, ROWS, 3)
  expect(less.all).toBe(false)
  expect([...less.ids]).toEqual([5, 4, 2, 1])
})

test('the loaded ones, and none', () => {
  const loaded = toggleLoaded(NOTHING, ROWS)
  expect(loaded.ids.size).toBe(5)
  expect(toggleLoaded(loaded, ROWS)).toEqual(NOTHING)
})
