// SPDX-License-Identifier: MIT
import { describe, expect, it } from 'vitest'
import { changedBody, formOf, hasEnds, newBody, stateOf, type Hook } from './hooks'

const hook: Hook = {
  id: 3,
  name: 'warehouse',
  target: 'https://events.example.org',
  kinds: ['flow_ended', 'run_ended'],
  only: 'failed',
  groups: ['pay'],
  tags: [],
  enabled: true,
  hasSecret: true,
  waiting: 0,
  oldestWaitingMs: null,
  nextMs: null,
  lastSentMs: 1_790_000_000_000,
  lastError: '',
}

describe('a form', () => {
  it('becomes what is added', () => {
    const form = { ...formOf(null), name: ' ops ', url: ' https://h/x?key=1 ', tags: ['night'] }
    expect(newBody(form)).toEqual({
      name: 'ops',
      url: 'https://h/x?key=1',
      kinds: ['run_ended', 'flow_ended'],
      only: 'all',
      groups: [],
      tags: ['night'],
    })
    expect(newBody({ ...form, secret: 's', kinds: ['job_changed', 'run_ended'] })).toMatchObject({
      secret: 's',
      kinds: ['run_ended', 'job_changed'],
    })
  })
  it('changes what was typed, and nothing else', () => {
    expect(changedBody(formOf(hook), hook)).toEqual({})
    expect(changedBody({ ...formOf(hook), onlyFailed: false, groups: [] }, hook)).toEqual({ only: 'all', groups: [] })
    // A change of a job is no failure: nothing is left that could fail.
    const kinds = ['job_changed'] as const
    expect(changedBody({ ...formOf(hook), kinds: [...kinds] }, hook)).toEqual({ kinds, only: 'all' })
    expect(changedBody({ ...formOf(hook), name: 'w2', url: ' https://b/ ' }, hook)).toEqual({
      name: 'w2',
      url: 'https://b/',
    })
    expect(changedBody({ ...formOf(hook), secret: 'new' }, hook)).toEqual({ secret: 'new' })
    expect(changedBody({ ...formOf(hook), dropSecret: true, secret: 'x' }, hook)).toEqual({ secret: null })
  })
})

it('only ends are successes or failures', () => {
  expect([hasEnds(['job_changed']), hasEnds([]), hasEnds(['job_changed', 'flow_ended'])]).toEqual([false, false, true])
})

it('says how a hook does', () => {
  expect(stateOf(hook)).toBe('fine')
  expect(stateOf({ ...hook, lastSentMs: null })).toBe('fresh')
  expect(stateOf({ ...hook, waiting: 2 })).toBe('behind')
  expect(stateOf({ ...hook, waiting: 2, lastError: 'connection refused' })).toBe('failing')
  expect(stateOf({ ...hook, enabled: false, lastError: 'connection refused' })).toBe('off')
})
