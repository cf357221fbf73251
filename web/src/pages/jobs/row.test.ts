// SPDX-License-Identifier: MIT
import { expect, test } from 'vitest'
import { idsToAsk, jobNow, lastOf, nextOf, shortInstant, ticksOf, unique, type Job, type RecentRun } from './row'

const NOW = Date.parse('2026-11-22T16:00:00.000Z')
const JOB = { id: 1, running: true, scheduleType: 'CRON', nextFireAt: '2026-11-22T16:00:10.000Z' } as Job

function run(id: number, state: RecentRun['state'], dueTime: string): RecentRun {
  return {
    id,
    state,
    trigger: 'cron',
    dueTime,
    triggerTime: dueTime,
    handleTime: null,
    lateSeconds: 0,
    durationSeconds: null,
    skipped: 0,
    outcome: { code: state, reason: null },
    retryRunId: null,
  }
}

test('the next fire is the first that is planned, else the next due time', () => {
  const planned = [run(9, 'planned', '2026-11-22T16:00:06.000Z'), run(8, 'planned', '2026-11-22T16:00:03.000Z')]
  expect(nextOf(JOB, planned, NOW)).toEqual({ kind: 'at', at: NOW + 3000 })
  expect(nextOf(JOB, [], NOW)).toEqual({ kind: 'at', at: NOW + 10_000 })
  expect(nextOf(JOB, [run(8, 'planned', '2026-11-22T15:59:00.000Z')], NOW)).toEqual({ kind: 'at', at: NOW + 10_000 })
})

test('a job without a next fire says why', () => {
  expect(nextOf({ ...JOB, running: false, nextFireAt: null }, [], NOW)).toEqual({ kind: 'stopped' })
  expect(nextOf({ ...JOB, running: false, nextFireAt: null, scheduleType: 'NONE' }, [], NOW)).toEqual({ kind: 'hand' })
  expect(nextOf({ ...JOB, nextFireAt: null }, [], NOW)).toEqual({ kind: 'none' })
})

test('what is asked for all the time is newer than the list', () => {
  const recent = { jobId: 1, running: false, nextFireAt: null, meanDurationSeconds: null, runs: [] }
  expect(jobNow(JOB, recent)).toMatchObject({ id: 1, running: false, nextFireAt: null })
  expect(jobNow(JOB, undefined)).toBe(JOB)
})

test('the last run is none that is to come; ticks read from old to new', () => {
  const runs = [run(3, 'planned', '2026-11-22T16:00:06.000Z'), run(2, 'failed', '2026-11-22T15:00:00.000Z')]
  expect(lastOf(runs)?.id).toBe(2)
  expect(ticksOf(runs).map((r) => r.id)).toEqual([2, 3])
})

test('a time in the room of a row', () => {
  expect(shortInstant(NOW + 3_600_000, NOW, 'Asia/Shanghai')).toBe('01:00:00')
  expect(shortInstant(NOW + 48 * 3_600_000, NOW, 'UTC')).toBe('11-24 16:00')
})

test('ticks are asked for in blocks, and no more than a call takes', () => {
  const ids = Array.from({ length: 300 }, (_, i) => i)
  expect(idsToAsk(ids, 25, 50)).toEqual(ids.slice(20, 60))
  expect(idsToAsk(ids, 20, 41)).toEqual(ids.slice(20, 60))
  expect(idsToAsk(ids, 0, 290)).toHaveLength(100)
  expect(unique([{ id: 1 }, { id: 2 }, { id: 1 }])).toEqual([{ id: 1 }, { id: 2 }])
})
