// SPDX-License-Identifier: MIT
import { expect, test } from 'vitest'
import type { Schemas } from '@/api/client'
import { lanesOf, stopsOf } from './lanes'
import {
  axisOf,
  barSpan,
  liveView,
  marksOfItems,
  marksOfSteps,
  pan,
  partsOfBar,
  SPAN_MAX,
  SPAN_MIN,
  worstOf,
  zoom,
  type BarMark,
} from './timeline'

const H = 3_600_000
const NOON = Date.parse('2026-11-22T12:00:00Z')
const view = { from: NOON - 6 * H, to: NOON }

function due(at: number, state = 'success'): Schemas['ExplainedTime'] {
  return { due: new Date(at).toISOString(), kind: 'cron', state, runs: [], runsLeftOut: 0, reason: 'succeeded', origin: 'due', facts: {}, text: '' } as Schemas['ExplainedTime']
}

test('zooming keeps what is below the pointer where it is, within bounds', () => {
  const now = NOON + 24 * H
  const at = NOON - 2 * H
  const closer = zoom(view, 0.5, at, now)
  expect(closer.to - closer.from).toBe(3 * H)
  expect((at - closer.from) / (closer.to - closer.from)).toBeCloseTo((at - view.from) / (view.to - view.from))
  expect(zoom(view, 1e-9, at, now).to - zoom(view, 1e-9, at, now).from).toBe(SPAN_MIN)
  expect(zoom(view, 1e9, at, now).to - zoom(view, 1e9, at, now).from).toBe(SPAN_MAX)
  const far = pan(view, 100, now)
  expect(far.to).toBe(liveView(now, 6 * H).to)
  expect(pan(view, -0.5, now)).toEqual({ from: view.from - 3 * H, to: view.to - 3 * H })
})

test('due times with room are ticks, without it bars of round lengths', () => {
  const each5 = Array.from({ length: 72 }, (_, i) => due(view.from + i * 5 * 60_000, i === 3 ? 'failed' : 'success'))
  const ticks = marksOfItems(each5, view, 1200)
  expect(ticks).toHaveLength(72)
  expect(ticks[3]).toMatchObject({ kind: 'due', state: 'failed', x: 50 })
  const bars = marksOfItems(each5, view, 300) as BarMark[]
  expect(bars[0]!.kind).toBe('bar')
  expect(bars[0]!.to - bars[0]!.from).toBe(barSpan(view, 300))
  expect(bars.reduce((n, b) => n + b.total, 0)).toBe(72)
  expect(worstOf(bars[0]!.counts)).toBe('failed')
  // Two that stand together, as one fired by hand, leave the others ticks.
  const two = [...each5.slice(0, 20), due(view.from + 20 * 5 * 60_000), due(view.from + 20 * 5 * 60_000 + 1000, 'failed')]
  const mixed = marksOfItems(two, view, 1200)
  expect(mixed.map((m) => m.kind)).toEqual([...Array(20).fill('due'), 'bar'])
  expect(mixed[20]).toMatchObject({ total: 2, counts: { success: 1, failed: 1 }, width: 13 })
  expect(marksOfItems([due(view.from - 1), due(view.to)], view, 1200)).toEqual([])
})

test('what is to come of a job that is stopped is not drawn', () => {
  const ahead = { ...due(view.from, 'skipped'), reason: 'stopped', facts: { ahead: true } } as Schemas['ExplainedTime']
  expect(marksOfItems([ahead, { ...ahead, facts: {} }], view, 800)).toHaveLength(1)
})

test('what is missing looks as what is unknown', () => {
  expect(marksOfItems([due(view.from, 'missing')], view, 800)[0]).toMatchObject({ state: 'unknown' })
})

test('steps become bars; late ones are told among those that did well', () => {
  const step = (at: number, counts: object, late = 0) => ({ from: new Date(at).toISOString(), counts, late })
  const bars = marksOfSteps(
    [step(view.from, { success: 60 }, 2), step(view.from + 60_000, { success: 50, failed: 3, lost: 1, waiting: 2 })],
    60_000,
    view,
    1200,
  ) as BarMark[]
  expect(bars).toHaveLength(1)
  expect(bars[0]).toMatchObject({ total: 116, counts: { success: 108, late: 2, failed: 3, unknown: 1, running: 2 } })
  expect((bars[0]!.to - bars[0]!.from) % 60_000).toBe(0)
})

test('a part of a bar is never too thin to be seen, and a bar never too high', () => {
  const bar: BarMark = { kind: 'bar', x: 0, width: 10, from: 0, to: 1, counts: { success: 10_000, failed: 1 }, total: 10_001 }
  const parts = partsOfBar(bar, 10_001, 40)
  expect(parts.map((p) => p.state)).toEqual(['success', 'failed'])
  expect(parts[1]!.height).toBeGreaterThanOrEqual(3)
  expect(parts[1]!.y).toBeGreaterThanOrEqual(-0.01)
  const small = partsOfBar({ ...bar, counts: { failed: 1 }, total: 1 }, 10_000, 40)
  expect(small[0]).toMatchObject({ height: 3, y: 37 })
})

test('the axis has round times of the clock in its zone', () => {
  const labels = (zone: string) => axisOf(view, 1200, zone).map((m) => m.label)
  expect(labels('UTC')).toEqual(['06:30', '07:00', '07:30', '08:00', '08:30', '09:00', '09:30', '10:00', '10:30', '11:00', '11:30'].flatMap((l, i) => (i === 0 ? ['06:00', l] : [l])))
  expect(labels('Asia/Kathmandu')[0]).toBe('12:00')
  expect(axisOf({ from: view.from, to: view.to + 31 * 60_000 }, 1200, 'UTC').at(-1)?.label).toBe('')
  const night = axisOf({ from: NOON - 24 * H, to: NOON }, 700, 'Asia/Shanghai')
  expect(night.find((m) => m.isDay)?.label).toBe('11-22')
  for (let i = 1; i < night.length; i++) expect(night[i]!.x - night[i - 1]!.x).toBeGreaterThanOrEqual(60)
})

let id = 0
function change(action: string, at: number, after: object | null = null): Schemas['AuditRow'] {
  return { id: ++id, at: new Date(at).toISOString(), who: 'ann', userId: 1, address: '', via: 'api/v1', action, target: 7, targetName: '', jobGroup: 3, before: null, after } as Schemas['AuditRow']
}
function event(kind: string, at: number, until?: number, facts: object = {}): Schemas['Event'] {
  return { id: ++id, at: new Date(at).toISOString(), until: until ? new Date(until).toISOString() : null, kind, node: 'n1', shard: null, job: null, facts, text: '' } as Schemas['Event']
}

test('a job stands still from stop to start', () => {
  const rows = [
    change('job.start', view.from + H, { running: true }),
    change('job.stop', view.from + 2 * H, { running: false }),
    change('job.update', view.from + 2.5 * H, { executorTimeout: 3 }),
    change('job.start', view.from + 3 * H, { running: true }),
  ]
  const found = stopsOf(rows, [], view, true).map((s) => [(s.at - view.from) / H, (s.until - view.from) / H])
  expect(found).toEqual([[0, 1], [2, 3]])
  expect(stopsOf([], [], view, false)).toMatchObject([{ at: view.from, until: view.to }])
  expect(stopsOf([], [], view, true)).toEqual([])
  expect(stopsOf(rows, [], view, undefined)).toEqual([])
  const theirs = [event('job-changed', view.from + H, undefined, { running: false })]
  expect(stopsOf([], theirs, view, false)).toMatchObject([{ at: view.from + H, until: view.to }])
})

test('lanes tell causes apart, and merge what stands together', () => {
  const rows = [change('job.update', view.from + H), change('glue.save', view.from + H + 1000), change('job.trigger', view.from)]
  const events = [
    event('database-away', view.from - H, view.from + 1000),
    event('shard-taken', view.from + 2 * H),
    event('node-died', view.from + 4 * H),
    event('zookeeper-away', view.from - 3 * H, view.from - 2 * H),
  ]
  const lanes = lanesOf(rows, events, view, 1200, true)
  expect(lanes.edits).toHaveLength(1)
  expect(lanes.edits[0]!.changes).toHaveLength(2)
  expect(lanes.edits[0]!.width).toBe(0)
  expect(lanes.shard).toMatchObject([{ x: 400 }])
  expect(lanes.cluster).toHaveLength(2)
  expect(lanes.cluster[0]).toMatchObject({ x: 0 })
  expect(lanes.stops).toEqual([])
})
