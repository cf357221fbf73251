// SPDX-License-Identifier: MIT
import { expect, test } from 'vitest'
import { isOdd, TICK_COLOUR, TICK_STATES, tickOfRun } from './ticks'

test('each state of a row has its tick', () => {
  expect(tickOfRun('planned')).toBe('planned')
  expect(tickOfRun('sending')).toBe('running')
  expect(tickOfRun('success')).toBe('success')
  expect(tickOfRun('success', false, 4000)).toBe('late')
  expect(tickOfRun('success', false, 999)).toBe('success')
  expect(tickOfRun('failed')).toBe('failed')
  expect(tickOfRun('failed', true)).toBe('retried')
  expect(tickOfRun('lost')).toBe('unknown')
  expect(tickOfRun('skipped')).toBe('skipped')
})

test('what is green, or not over, needs no why', () => {
  expect(TICK_STATES.filter(isOdd)).toEqual(['failed', 'retried', 'late', 'skipped', 'unknown'])
})

test('each tick has a colour', () => {
  for (const state of TICK_STATES) expect(TICK_COLOUR[state]).toBeTruthy()
})
