// SPDX-License-Identifier: MIT
import { expect, it } from 'vitest'
import { actionKey, targetOf } from './actions'

it('has words for what it knows', () => {
  expect(actionKey('job.update')).toBe('audit.action.job.update')
  expect(actionKey('cluster.reshard-cancel')).toBe('audit.action.cluster.reshard-cancel')
  expect(actionKey('moon.land')).toBeUndefined()
  expect(actionKey('job.fly')).toBeUndefined()
})

it('leads to the thing, while it is there', () => {
  expect(targetOf({ action: 'job.update', target: 7 })).toEqual({ name: 'job', params: { id: '7' } })
  expect(targetOf({ action: 'run.kill', target: 9 })).toEqual({ name: 'run', params: { id: '9' } })
  expect(targetOf({ action: 'group.add', target: 2 })).toEqual({ name: 'executor', params: { id: '2' } })
  expect(targetOf({ action: 'job.remove', target: 7 })).toBeUndefined()
  expect(targetOf({ action: 'hook.remove', target: 3 })).toEqual({ name: 'events' })
  expect(targetOf({ action: 'shard.release', target: 0 })).toEqual({ name: 'cluster' })
})
