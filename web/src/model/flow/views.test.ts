// SPDX-License-Identifier: MIT
// What the three views of a flow and the pages of its runs decide without a page.
import { expect, test } from 'vitest'
import { runActions, stepActions } from './actions'
import type { FlowDocument } from './document'
import { record, redo, startHistory, TOGETHER_MS, undo } from './history'
import { lineAt, placesOf, spanOf } from './json-places'
import { layOut, layOutPlain, smoothPath } from './layout'
import { stepTowards } from './moves'
import { readParameters, readValue, typedOf } from './parameters'
import { reasonOf } from './reason'
import { showResult } from './result'
import { confOfSchedule, typeOfSchedule } from './schedule'
import { barsOf, isTaken, lengthMs, tickOfState } from './states'
import { readCondition, showCondition } from '@/pages/flow-edit/condition'
import { homeOf } from '@/pages/flow-edit/faults'
import { pickSides } from '@/pages/flow/sides'

test('each value of a text has its place, and a text that is no JSON says where', () => {
  const text = '{"steps": [{"name": "a/b"}, 5], "a/b": {"~": true}}'
  const { places, wrongAt } = placesOf(text)
  const at = (pointer: string) => text.slice(places.get(pointer)!.from, places.get(pointer)!.to)
  expect(wrongAt).toBeUndefined()
  expect(at('/steps/0/name')).toBe('"a/b"')
  expect(at('/steps/1')).toBe('5')
  expect(at('/a~1b/~0')).toBe('true')
  expect(spanOf(places, '/steps/1/jobId')).toEqual(places.get('/steps/1'))
  expect(placesOf('{"a": }').wrongAt).toBe(6)
  expect(placesOf('{"a": 1} x').wrongAt).toBe(9)
  expect(placesOf('').wrongAt).toBe(0)
  expect(placesOf('[1,]').wrongAt).toBe(3)
  expect(lineAt('{\n  x', 4)).toEqual({ line: 2, column: 3 })
})

test('typing into one field is undone at once, other changes one by one', () => {
  let h = startHistory('a')
  h = record(h, 'ab', 0, 'name')
  h = record(h, 'abc', 100, 'name')
  h = record(h, 'abcd', 100 + TOGETHER_MS, 'name')
  h = record(h, 'x', 5000)
  expect(h.past).toEqual(['a', 'abc', 'abcd'])
  h = undo(undo(h))
  expect(h.now).toBe('abc')
  expect(redo(h).now).toBe('abcd')
  expect(record(h, 'y', 9000).future).toEqual([])
  expect(undo(startHistory('a')).now).toBe('a')
})

test('steps stand left to right in the order of the edges and do not overlap', () => {
  const size = { width: 100, height: 40 }
  const drawing = layOut(['a', 'b', 'c'], [{ from: 'a', to: 'b', label: '' }, { from: 'a', to: 'c', label: 'failed' }], size, 'right')
  const [a, b, c] = drawing.boxes
  expect(a!.x + 100).toBeLessThan(b!.x)
  expect(b!.x).toBe(c!.x)
  expect(Math.abs(b!.y - c!.y)).toBeGreaterThanOrEqual(40)
  expect(drawing.lines.map((l) => l.at)).toEqual([0, 1])
  expect(drawing.lines[1]!.path).toMatch(/^M/)
  const down = layOut(['a', 'b'], [{ from: 'a', to: 'b', label: '' }], size, 'down')
  expect(down.boxes[0]!.y).toBeLessThan(down.boxes[1]!.y)
  expect(smoothPath([{ x: 0, y: 0 }, { x: 10, y: 0 }, { x: 20, y: 10 }])).toBe('M0 0Q10 0 15 5L20 10')
  const plain = layOutPlain(['a', 'b', 'c'], [{ from: 'a', to: 'b' }, { from: 'b', to: 'c' }, { from: 'c', to: 'b' }], size, 'right')
  expect(plain.boxes[0]!.x + 100).toBeLessThan(plain.boxes[1]!.x)
  // A circle, as it is while one types, is drawn, too.
  expect(layOut(['a', 'b'], [{ from: 'a', to: 'b', label: '' }, { from: 'b', to: 'a', label: '' }], size, 'right').lines).toHaveLength(2)
})

test('arrows lead to the nearest step that way, to a linked one first', () => {
  const places = [{ name: 'a', x: 0, y: 0 }, { name: 'b', x: 100, y: -40 }, { name: 'c', x: 100, y: 10 }, { name: 'd', x: 200, y: 0 }]
  const isLinked = (a: string, b: string) => a === 'a' && b === 'b'
  expect(stepTowards(places, 'a', 'ArrowRight', isLinked)).toBe('b')
  expect(stepTowards(places, 'a', 'ArrowRight', () => false)).toBe('c')
  expect(stepTowards(places, 'b', 'ArrowDown', isLinked)).toBe('c')
  expect(stepTowards(places, 'a', 'ArrowLeft', isLinked)).toBeUndefined()
  expect(stepTowards(places, 'b', 'End', isLinked)).toBe('d')
  expect(stepTowards(places, 'b', 'x', isLinked)).toBeUndefined()
})

test('parameters are sent with their types, and what is empty is left to its default', () => {
  const declared = [
    { name: 'region', default: 'cn' },
    { name: 'n', type: 'number', required: true },
    { name: 'all', type: 'boolean', default: false },
    { name: 'rows', type: 'json' },
  ] as const
  expect(typedOf(declared)).toEqual({ region: 'cn', n: '', all: 'false', rows: '' })
  expect(typedOf(declared, { n: 5, rows: [1] })).toMatchObject({ n: '5', rows: '[1]' })
  expect(readParameters(declared, { region: '', n: ' 1.5 ', all: 'true', rows: '{"a": 1}' })).toEqual({
    values: { region: '', n: 1.5, all: true, rows: { a: 1 } },
    faults: {},
  })
  expect(readParameters(declared, { region: 'x', n: '', rows: '{' }).faults).toEqual({ n: 'required', rows: 'json' })
  expect(readParameters(declared, { n: 'five' }).faults).toEqual({ n: 'number' })
  expect(readValue('0x10', 'number')).toEqual({ fault: 'number' })
})

test('what can be done with a step depends on its state and on the run', () => {
  const run = (state: 'running' | 'failed' | 'succeeded') => ({ state })
  const step = (state: 'waiting' | 'running' | 'failed' | 'succeeded' | 'cancelled', type: 'job' | 'approval' = 'job', closed = false) => ({ state, type, closed })
  expect(stepActions(run('running'), step('running'))).toEqual([])
  expect(stepActions(run('running'), step('running', 'approval'))).toEqual(['approve', 'reject', 'skip', 'done'])
  expect(stepActions(run('running'), step('waiting'))).toEqual(['skip', 'done'])
  expect(stepActions(run('failed'), step('failed'))).toEqual(['retry', 'skip', 'done'])
  expect(stepActions(run('failed'), step('cancelled'))).toEqual(['retry'])
  expect(stepActions(run('failed'), step('failed', 'job', true))).toEqual([])
  expect(stepActions(run('succeeded'), step('succeeded'))).toEqual([])
  expect([runActions(run('running')), runActions(run('failed')), runActions(run('succeeded'))]).toEqual([['cancel'], ['rerun'], []])
})

test('bars are on one scale, and what runs still reaches to now', () => {
  const at = (s: number) => new Date(s * 1000).toISOString()
  const steps = [
    { name: 'b', startedAt: at(15), endedAt: null },
    { name: 'a', startedAt: at(10), endedAt: at(15) },
    { name: 'c', startedAt: null, endedAt: null },
  ]
  expect(barsOf(steps, 20_000)).toEqual([
    { name: 'a', from: 0, length: 0.5, ms: 5000 },
    { name: 'b', from: 0.5, length: 0.5, ms: 5000 },
  ])
  expect(barsOf([], 0)).toEqual([])
  expect(lengthMs(steps[1]!, 0)).toBe(5000)
  expect(tickOfState('waiting')).toBe('planned')
  expect(tickOfState('of a newer server')).toBe('unknown')
})

test('an edge is drawn as taken where its end came true', () => {
  const states = new Map([['a', 'failed'], ['b', 'succeeded'], ['c', 'skipped'], ['d', 'waiting']])
  expect(isTaken({ from: 'a', to: 'b', on: 'failure' }, states)).toBe(true)
  expect(isTaken({ from: 'a', to: 'b' }, states)).toBe(false)
  expect(isTaken({ from: 'b', to: 'c' }, states)).toBe(false)
  expect(isTaken({ from: 'b', to: 'd' }, states)).toBeUndefined()
  expect(isTaken({ from: 'd', to: 'b' }, states)).toBeUndefined()
})

test('a step waits for the edges that are not decided', () => {
  const flow = {
    name: 'f',
    steps: [{ name: 'a', type: 'job' }, { name: 'b', type: 'job' }, { name: 'c', type: 'job' }, { name: 'd', type: 'job', join: 'any' }],
    edges: [
      { from: 'a', to: 'c', when: { all: [{ path: 'steps.b.result', is: '=', value: 1 }] } },
      { from: 'b', to: 'c', on: 'end' },
      { from: 'a', to: 'd', on: 'failure' },
      { from: 'c', to: 'd' },
    ],
  } as FlowDocument
  const states = (a: string, b: string) => new Map([['a', a], ['b', b], ['c', 'waiting'], ['d', 'waiting']])
  expect(reasonOf(flow, 'c', states('succeeded', 'running'))).toEqual({
    any: false,
    for: [{ name: 'a', on: 'success', conditions: true }, { name: 'b', on: 'end', conditions: false }],
  })
  expect(reasonOf(flow, 'c', states('failed', 'running')).for.map((e) => e.name)).toEqual(['b'])
  expect(reasonOf(flow, 'd', states('succeeded', 'failed'))).toEqual({ any: true, for: [{ name: 'c', on: 'success', conditions: false }] })
  expect(reasonOf(flow, 'a', states('waiting', 'waiting')).for).toEqual([])
})

test('small words', () => {
  expect(showResult('{"a":1}')).toBe('{\n  "a": 1\n}')
  expect(showResult('done')).toBe('done')
  expect([typeOfSchedule({ cron: '' }), typeOfSchedule({ every: 60 }), typeOfSchedule({ delay: 5 }), typeOfSchedule(null)]).toEqual(['CRON', 'FIX_RATE', 'FIX_DELAY', 'NONE'])
  expect(confOfSchedule({ every: 60 })).toBe('60')
  expect([readCondition('5'), readCondition('abc'), showCondition('5'), showCondition('abc'), showCondition(5)]).toEqual([5, 'abc', '"5"', 'abc', '5'])
  expect([homeOf('/steps/2/param'), homeOf('/edges/0'), homeOf('/parameters/1/name'), homeOf('/schedule/cron')].map((h) => h.part)).toEqual(['step', 'edge', 'parameters', 'settings'])
  expect(pickSides([3, 2, 1], NaN, NaN)).toEqual([2, 3])
  expect(pickSides([3, 2, 1], 1, 3)).toEqual([1, 3])
  expect(pickSides([1], NaN, NaN)).toEqual([0, 1])
  expect(pickSides([], 1, 1)).toBeUndefined()
})
