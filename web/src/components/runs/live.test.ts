// SPDX-License-Identifier: MIT
import { expect, test } from 'vitest'
import { adopt, mergeLive, planPoll } from './live'

const row = (id: number, second: number, state = 'running') => ({
  id,
  triggerTime: `2026-11-22T10:00:${String(second).padStart(2, '0')}.000Z`,
  state,
})
const shown = [row(3, 3), row(2, 2), row(1, 1)]
const all = { complete: true, from: row(0, 1).triggerTime }

test('what is shown changes where it stands; what is new waits', () => {
  const live = mergeLive(shown, { ...all, rows: [row(5, 5), row(4, 4), row(3, 3, 'success'), row(2, 2), row(1, 1)] })
  expect(live.rows.map((r) => [r.id, r.state])).toEqual([
    [3, 'success'],
    [2, 'running'],
    [1, 'running'],
  ])
  expect(live.fresh.map((r) => r.id)).toEqual([5, 4])
  expect(live.freshIsMore).toBe(false)
  expect(live.gone.size).toBe(0)
  expect(adopt(live).map((r) => r.id)).toEqual([5, 4, 3, 2, 1])
})

test('a row that came between takes its place when it is asked for', () => {
  const live = mergeLive([row(9, 9), row(1, 1)], { ...all, rows: [row(9, 9), row(4, 4), row(1, 1)] })
  expect(live.fresh.map((r) => r.id)).toEqual([4])
  expect(adopt(live).map((r) => r.id)).toEqual([9, 4, 1])
})

test('rows of the same second stand by id', () => {
  const live = mergeLive([row(7, 3)], { ...all, rows: [row(8, 3), row(7, 3)] })
  expect(adopt(live).map((r) => r.id)).toEqual([8, 7])
})

test('a row that does not match any more stays and is marked; older ones are not judged', () => {
  const live = mergeLive(shown, { rows: [row(3, 3)], complete: true, from: row(0, 2).triggerTime })
  expect([...live.gone]).toEqual([])
  const later = mergeLive(shown, { rows: [row(3, 3)], complete: true, from: row(0, 1).triggerTime })
  expect([...later.gone]).toEqual([2])
  expect(later.rows).toHaveLength(3)
  expect(adopt(later).map((r) => r.id)).toEqual([3, 1])
})

test('more new rows than a poll has', () => {
  const live = mergeLive(shown, { rows: [row(30, 30), row(29, 29)], complete: false, from: all.from })
  expect(live.freshIsMore).toBe(true)
  expect(live.gone.size).toBe(0)
})

test('without a poll everything is as it was', () => {
  expect(mergeLive(shown, undefined)).toEqual({ rows: shown, fresh: [], freshIsMore: false, gone: new Set() })
})

test('a run that goes on for long is asked for by itself, and marked when it does not match any more', () => {
  const polled = { rows: [], complete: true, from: row(0, 30).triggerTime, older: [row(2, 2, 'success')] }
  const live = mergeLive(shown, polled, (r) => r.state === 'running')
  expect(live.rows.map((r) => r.state)).toEqual(['running', 'success', 'running'])
  expect([...live.gone]).toEqual([2])
})

test('a poll looks back ten minutes at most, and not beyond the first page', () => {
  const loaded = Date.parse('2026-11-22T10:20:00Z')
  const open = (r: { state: string }) => r.state === 'running'
  expect(planPoll(shown, 50, loaded, open)).toEqual({ from: '2026-11-22T10:10:00.000Z', older: [3, 2, 1] })
  expect(planPoll([row(3, 3, 'failed'), row(2, 2)], 50, loaded, open).older).toEqual([2])
  const soon = Date.parse('2026-11-22T10:00:30Z')
  expect(planPoll(shown, 2, soon, open)).toEqual({ from: shown[1]!.triggerTime, older: [1] })
  expect(planPoll([], 50, soon, open)).toEqual({ from: '2026-11-22T09:50:30.000Z', older: [] })
  const many = Array.from({ length: 40 }, (_, i) => row(40 - i, 3))
  expect(planPoll(many, 50, loaded, open).older).toHaveLength(10)
})
