// SPDX-License-Identifier: MIT
import { describe, expect, test } from 'vitest'
import { concernsOf } from './attention'
import type { Schemas } from '@/api/client'

type Overview = Schemas['Overview']

const CALM: Overview = {
  now: '2026-11-22T16:00:00.000Z',
  jobs: 10,
  jobsRunning: 9,
  jobsStopped: 1,
  runs: {
    running: 3,
    waiting: 0,
    failuresHour: 0,
    failuresDay: 0,
    skippedHour: 0,
    alarmsUndeliveredDay: 0,
    isEstimate: false,
  },
  failing: { count: 0, isEstimate: false, items: [] },
  topFailing: { items: [] },
  late: { count: 0, isEstimate: false, items: [] },
  cannotFire: [],
  executors: { online: 2, groups: 1, groupsWithout: 0 },
  nextMinute: { count: 0, items: [] },
  incomplete: [],
}
const WELL: Schemas['Health'] = {
  nodes: 3,
  nodesLive: 3,
  nodesDraining: 0,
  shards: 8,
  shardsOwned: 8,
  databaseMilliseconds: 1,
  zookeeper: 'up',
  trouble: null,
}

describe('what needs attention', () => {
  test('is nothing where all is well', () => {
    expect(concernsOf(CALM, WELL)).toEqual([])
    expect(concernsOf(undefined, undefined)).toEqual([])
  })

  test('has secrets that everybody knows, each with where it is changed', () => {
    const secret = { where: 'xxl.job.accessToken', text: '', advice: '', count: 1, names: [] }
    const found = concernsOf(CALM, WELL, [
      { ...secret, code: 'token-default' },
      { ...secret, code: 'users', count: 2, names: ['admin', 'ann'] },
    ])
    expect(found.map((c) => [c.key, c.n, c.to, c.values.names])).toEqual([
      ['token-default', 1, { name: 'settings', query: { text: 'xxl.job.accessToken' } }, ''],
      ['users', 2, { name: 'users' }, 'admin, ann'],
    ])
  })

  test('has the cluster first, then jobs, then what is only late', () => {
    const found = concernsOf(
      {
        ...CALM,
        runs: { ...CALM.runs, waiting: 2, skippedHour: 4, alarmsUndeliveredDay: 1, isEstimate: true },
        failing: { count: 3, isEstimate: false, items: [] },
        late: { count: 5, isEstimate: true, items: [] },
      },
      { ...WELL, shardsOwned: 6, trouble: { code: 'shards-unowned', text: '' } },
    )
    expect(found.map((c) => [c.key, c.n, c.isEstimate])).toEqual([
      ['shards-unowned', 2, false],
      ['failing', 3, false],
      ['alarms', 1, true],
      ['waiting', 2, true],
      ['skipped', 4, true],
      ['late', 5, true],
    ])
    expect(found[0]!.values).toEqual({ all: 8 })
    expect(found[1]!.to).toEqual({ name: 'jobs', query: { result: 'failed' } })
  })

  test('names groups that nothing can be sent to, and none that has nothing to send', () => {
    const found = concernsOf(
      {
        ...CALM,
        executors: { online: 0, groups: 3, groupsWithout: 3 },
        cannotFire: [
          { jobGroup: 4, appname: 'orders', groupTitle: 'Orders', reason: 'no-address', jobs: 7 },
          { jobGroup: 9, appname: null, groupTitle: null, reason: 'no-group', jobs: 1 },
        ],
      },
      WELL,
    )
    expect(found.map((c) => [c.key, c.n, c.values.group])).toEqual([
      ['no-address', 7, 'Orders'],
      ['no-group', 1, '#9'],
    ])
    expect(found[1]!.to).toEqual({ name: 'jobs', query: { group: '9', state: 'running' } })
  })

  test('is what the node says where the database is away', () => {
    const away = { ...WELL, databaseMilliseconds: null, trouble: { code: 'database-away' as const, text: '' } }
    expect(concernsOf(undefined, away).map((c) => [c.key, c.level])).toEqual([['database-away', 'fail']])
  })
})
