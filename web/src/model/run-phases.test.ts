// SPDX-License-Identifier: MIT
import { expect, test } from 'vitest'
import { phasesOf } from './run-phases'

const at = (s: number) => new Date(1_764_000_000_000 + s * 1000).toISOString()
const ms = (s: number) => Date.parse(at(s))

function run(changes: Partial<Parameters<typeof phasesOf>[0]> = {}) {
  return {
    state: 'success' as const,
    dueTime: at(0),
    triggerTime: at(0),
    handleTime: at(6),
    lateSeconds: 0,
    durationSeconds: 6,
    outcome: { code: 'success' } as never,
    ...changes,
  }
}

test('a run in time is one part, a late one has two', () => {
  expect(phasesOf(run(), ms(100))).toEqual([{ name: 'ran', from: ms(0), to: ms(6), width: 100 }])
  const late = phasesOf(run({ triggerTime: at(2), lateSeconds: 2, handleTime: at(8) }), ms(100))
  expect(late).toEqual([
    { name: 'late', from: ms(0), to: ms(2), width: 25 },
    { name: 'ran', from: ms(2), to: ms(8), width: 75 },
  ])
})

test('what is short is seen still', () => {
  const [late, ran] = phasesOf(run({ triggerTime: at(1), lateSeconds: 1, durationSeconds: 9999 }), 0)
  expect([late!.width, ran!.width]).toEqual([3, 97])
  const [long, short] = phasesOf(run({ triggerTime: at(9999), lateSeconds: 9999, durationSeconds: 0 }), 0)
  expect([long!.width, short!.width]).toEqual([97, 3])
})

test('a run in progress grows, one that was not sent has no part', () => {
  const running = run({ state: 'running', durationSeconds: null, handleTime: null })
  expect(phasesOf(running, ms(4))).toEqual([{ name: 'ran', from: ms(0), to: ms(4), width: 100 }])
  expect(phasesOf(running, ms(-3))).toEqual([{ name: 'ran', from: ms(0), to: ms(0), width: 100 }])
  for (const state of ['planned', 'waiting', 'failed', 'skipped', 'unknown'] as const)
    expect(phasesOf(run({ state, durationSeconds: null }), ms(9))).toEqual([])
  expect(phasesOf(run({ triggerTime: null }), ms(9))).toEqual([])
})
