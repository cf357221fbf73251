// SPDX-License-Identifier: MIT
import { expect, test } from 'vitest'
import { isOver, partsOfRun, shortReason, stateOfRun, type RunLike } from './run-words'

const RUN: RunLike = {
  id: 7,
  state: 'success',
  dueTime: '2026-11-22T16:00:00.000Z',
  triggerTime: '2026-11-22T16:00:00.000Z',
  lateSeconds: 0,
  durationSeconds: 3,
  skipped: 0,
  outcome: { code: 'success', reason: null },
  retryRunId: null,
}
const NOW = Date.parse('2026-11-22T16:01:00.000Z')

test('a run that goes on says how long it has run, one that is over how long it took', () => {
  expect(partsOfRun(RUN, NOW).seconds).toBe(3)
  const going: RunLike = { ...RUN, state: 'running', durationSeconds: null, outcome: { code: 'running', reason: null } }
  expect(partsOfRun(going, NOW).seconds).toBe(60)
  expect(isOver(going)).toBe(false)
  expect(isOver(RUN)).toBe(true)
})

test('the reason is one line, and only where it went wrong', () => {
  expect(partsOfRun({ ...RUN, outcome: { code: 'success', reason: 'ok' } }, NOW).reason).toBe('')
  const failed: RunLike = { ...RUN, state: 'failed', outcome: { code: 'failed', reason: ' boom\n  at Main.java:3' } }
  expect(partsOfRun(failed, NOW).reason).toBe('boom')
  expect(shortReason('x'.repeat(500))).toHaveLength(200)
})

test('a reason that the server knows is a code, but for what the outcome says already', () => {
  const of = (outcome: RunLike['outcome']) => partsOfRun({ ...RUN, state: 'failed', outcome }, NOW)
  const status = of({ code: 'undelivered', reason: 'HTTP status 503', reasonCode: 'http-status', reasonValue: '503' })
  expect(status).toMatchObject({ code: 'http-status', value: '503', reason: 'HTTP status 503' })
  expect(of({ code: 'failed', reason: 'boom' })).toMatchObject({ code: undefined, reason: 'boom' })
  const timeout = of({ code: 'timeout', reason: 'job execute timeout', reasonCode: 'time-limit' })
  expect(timeout).toMatchObject({ code: undefined, reason: '' })
  expect(of({ code: 'timeout', reason: 'of its own' }).reason).toBe('of its own')
})

test('the tick: late, retried, refused by the block strategy', () => {
  expect(stateOfRun(RUN)).toBe('success')
  expect(stateOfRun({ ...RUN, lateSeconds: 4 })).toBe('late')
  const failed: RunLike = { ...RUN, state: 'failed', outcome: { code: 'failed', reason: null } }
  expect(stateOfRun(failed)).toBe('failed')
  expect(stateOfRun({ ...failed, retryRunId: 9 })).toBe('retried')
  expect(stateOfRun({ ...failed, outcome: { code: 'blocked', reason: null } })).toBe('skipped')
})
