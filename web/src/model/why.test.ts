// SPDX-License-Identifier: MIT
import { expect, test } from 'vitest'
import type { Schemas } from '@/api/client'
import { answerOf, causeSpan, fieldText, lastProblem, quickTime } from './why'
import { whyPlace } from './why-place'

const NOON = Date.parse('2026-11-22T12:00:00Z')
const due = (minute: number, state = 'success') =>
  ({ due: new Date(NOON + minute * 60_000).toISOString(), state, runs: [] as number[] }) as Schemas['ExplainedTime']
const minutes = (items: Schemas['ExplainedTime'][]) => items.map((i) => (Date.parse(i.due) - NOON) / 60_000)

test('what was due in the minute that was asked for is the answer', () => {
  const items = [-10, -5, 0, 0.5, 5, 10].map((m) => due(m))
  const answer = answerOf(items, NOON + 20_000)
  expect(minutes(answer.then)).toEqual([0, 0.5])
  expect(minutes(answer.before)).toEqual([-5, -10])
  expect(minutes(answer.after)).toEqual([5, 10])
})

test('a run that is asked about is told where its first try was due', () => {
  const first = { ...due(0, 'failed'), runs: [7, 9] }
  const answer = answerOf([due(-5), first, due(5)], NOON + 4 * 60_000, 9)
  expect(minutes(answer.then)).toEqual([0])
  expect([minutes(answer.before), minutes(answer.after)]).toEqual([[-5], [5]])
  expect(answerOf([{ ...due(4), runs: [1] }], NOON + 4 * 60_000, 9).then).toHaveLength(1)
  expect(whyPlace(12, 'T', 9)).toEqual({ name: 'job', params: { id: '12', tab: 'why' }, query: { at: 'T', run: '9' } })
})

test('nothing was due: the ones before and behind are told', () => {
  const answer = answerOf([due(-300), due(300)], NOON)
  expect(answer.then).toEqual([])
  expect([minutes(answer.before), minutes(answer.after)]).toEqual([[-300], [300]])
  const span = causeSpan(answer, NOON)
  expect([(span.from - NOON) / 60_000, (span.to - NOON) / 60_000]).toEqual([-301, 301])
  expect(causeSpan(answerOf([], NOON), NOON)).toEqual({ from: NOON - 16 * 60_000, to: NOON + 16 * 60_000 })
})

test('last night is the night that is over', () => {
  const at = (quick: 'night' | 'midnight', now: string, zone: string) => new Date(quickTime(quick, Date.parse(now), zone)).toISOString()
  expect(at('night', '2026-11-22T01:00:00Z', 'Asia/Shanghai')).toBe('2026-11-21T18:30:00.000Z')
  expect(at('night', '2026-11-21T18:00:00Z', 'Asia/Shanghai')).toBe('2026-11-20T18:30:00.000Z')
  expect(at('midnight', '2026-11-22T01:00:00Z', 'UTC')).toBe('2026-11-22T00:00:00.000Z')
})

test('the last problem is neither green nor to come', () => {
  expect(lastProblem([due(0, 'failed'), due(1, 'late'), due(2), due(3, 'running'), due(4, 'planned')])).toMatchObject({ state: 'late' })
  expect(lastProblem([due(0)])).toBeUndefined()
})

test('a field has seconds only where they matter', () => {
  expect(fieldText(NOON, 'Asia/Shanghai')).toBe('2026-11-22T20:00')
  expect(fieldText(NOON + 5000, 'UTC')).toBe('2026-11-22T12:00:05')
})
