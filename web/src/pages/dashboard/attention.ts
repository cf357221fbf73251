// SPDX-License-Identifier: MIT
/** attention: what somebody should look at now, the worst first, each with the list behind it. Pure. */
import type { RouteLocationRaw } from 'vue-router'
import type { Schemas } from '@/api/client'
import { troubleOf, type Trouble } from '@/model/health'
import { FAILURES } from '@/model/run-words'

type Overview = Schemas['Overview']
type Health = Schemas['Health']

type TroubleKey = Trouble['code']
type Weak = Schemas['WeakSecret']
type WeakKey = Weak['code']

export interface Concern {
  key:
    | TroubleKey
    | WeakKey
    | 'failing'
    | 'no-address'
    | 'no-group'
    | 'waiting'
    | 'late'
    | 'skipped'
    | 'alarms'
  level: 'fail' | 'skip'
  n: number
  /** There are more than that. */
  isEstimate: boolean
  values: Record<string, unknown>
  to: RouteLocationRaw
}

/** Runs that were sent, or could not be; neither planned nor skipped. */
export const SENT = `success,${FAILURES},running`

/** A link to the list of runs; `late` and the others as that page reads them. */
export function toRuns(query: Record<string, string>): RouteLocationRaw {
  return { name: 'runs', query }
}

function concern(
  key: Concern['key'],
  level: Concern['level'],
  n: number,
  to: RouteLocationRaw,
  more: Partial<Concern> = {},
): Concern {
  return { key, level, n, to, isEstimate: false, values: {}, ...more }
}

export function isTrouble(key: Concern['key']): key is TroubleKey {
  return key === 'database-away' || key === 'zookeeper-away' || key === 'shards-unowned' || key === 'node-silent'
}

function ofCluster(health: Health): Concern[] {
  const found = troubleOf(health)
  return found ? [concern(found.code, found.level, found.n, { name: 'cluster' }, { values: { all: found.all } })] : []
}

function ofGroups(overview: Overview): Concern[] {
  return overview.cannotFire.map((item) =>
    concern(
      item.reason,
      'fail',
      item.jobs,
      item.reason === 'no-address'
        ? { name: 'executor', params: { id: String(item.jobGroup) } }
        : { name: 'jobs', query: { group: String(item.jobGroup), state: 'running' } },
      { values: { group: item.groupTitle ?? `#${item.jobGroup}` } },
    ),
  )
}

const WEAK = ['token-empty', 'token-default', 'database-empty', 'database-default', 'database-user', 'users', 'groups']

export function isWeak(key: Concern['key']): key is WeakKey {
  return WEAK.includes(key)
}

/** Where it is changed: users and groups have pages; of the rest the setting says where it came from. */
function ofSecret({ code, where, count, names }: Weak): Concern {
  const to: RouteLocationRaw =
    code === 'users' ? { name: 'users' } : code === 'groups' ? { name: 'executors' } : { name: 'settings', query: { text: where } }
  return concern(code, 'skip', count, to, { values: { names: names.join(', ') } })
}

export function concernsOf(overview: Overview | undefined, health: Health | undefined, weak: readonly Weak[] = []): Concern[] {
  const all = [...(health ? ofCluster(health) : []), ...weak.map(ofSecret)]
  if (!overview) return all
  const { failing, runs, late } = overview
  all.push(...ofGroups(overview))
  all.push(concern('failing', 'fail', failing.count, { name: 'jobs', query: { result: 'failed' } }, failing))
  all.push(concern('alarms', 'fail', runs.alarmsUndeliveredDay, { name: 'alarms' }, runs))
  all.push(concern('waiting', 'skip', runs.waiting, toRuns({ result: 'waiting' }), runs))
  all.push(concern('skipped', 'skip', runs.skippedHour, toRuns({ result: 'skipped', range: 'hour' }), runs))
  all.push(concern('late', 'skip', late.count, toRuns({ late: 'yes', range: 'hour' }), late))
  return all.filter((c) => c.n > 0).map(({ key, level, n, isEstimate, values, to }) => ({ key, level, n, isEstimate, values, to }))
}
