// SPDX-License-Identifier: MIT
import { expect, test } from 'vitest'
import { rowsOnScreen } from './row-window'

test('few of many rows stand in the page', () => {
  expect(rowsOnScreen(100, 800, 44, 100_000, 8)).toEqual({ from: 0, to: 24 })
  expect(rowsOnScreen(-44_000, 800, 44, 100_000, 8)).toEqual({ from: 992, to: 1027 })
})

test('the ends of the list, and a list that got shorter', () => {
  expect(rowsOnScreen(0, 800, 44, 5)).toEqual({ from: 0, to: 5 })
  expect(rowsOnScreen(0, 800, 44, 0)).toEqual({ from: 0, to: 0 })
  expect(rowsOnScreen(-44_000, 800, 44, 5)).toEqual({ from: 4, to: 5 })
})
