// SPDX-License-Identifier: MIT
/** document: a text that is to be put in, looked at before it is sent; and what would change, item by item. Pure. */
import type { Schemas } from '@/api/client'

export type ImportResult = Schemas['ImportResult']
export type Outcome = ImportResult['jobs'][number]['outcome']
export const OUTCOMES = ['create', 'change', 'refused', 'left', 'same'] as const satisfies readonly Outcome[]

/** What the server takes. */
export const MOST_BYTES = 4 * 1024 * 1024

export type Fault = { kind: 'tooLarge'; bytes: number } | { kind: 'notJson'; why: string } | { kind: 'notOurs' }

/** What keeps it from being sent; undefined: nothing. */
export function faultOf(text: string): Fault | undefined {
  const bytes = new TextEncoder().encode(text).length
  if (bytes > MOST_BYTES) return { kind: 'tooLarge', bytes }
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch (e) {
    return { kind: 'notJson', why: e instanceof Error ? e.message : String(e) }
  }
  const isOurs = typeof parsed === 'object' && parsed !== null && 'format' in parsed && parsed.format === 'shardwheel-jobs'
  return isOurs ? undefined : { kind: 'notOurs' }
}

export interface Member {
  name: string
  /** Undefined: it is not set. */
  before: string | undefined
  after: string | undefined
}

export interface Item {
  key: string
  outcome: Outcome
  what: 'group' | 'job' | 'flow' | 'rule' | 'channel'
  /** Of a group, a job. */
  appname: string | undefined
  name: string
  id: number | null
  members: Member[]
  kind: string | undefined
  field: string | undefined
  detail: string | undefined
}

type Values = Record<string, unknown>

function asText(value: unknown): string | undefined {
  if (value === undefined || value === null || value === '') return undefined
  if (typeof value === 'string') return value
  if (isDigest(value)) return value.length ? `${value.length} B · ${value.sha256.slice(0, 8)}` : undefined
  return JSON.stringify(value)
}

/** How the next version of a flow differs. */
function linesOf(value: unknown): string | undefined {
  return Array.isArray(value) ? value.join('\n') : asText(value)
}

/** A source stands as its length and its hash. */
function isDigest(value: unknown): value is { length: number; sha256: string } {
  return typeof value === 'object' && value !== null && 'sha256' in value && typeof value.sha256 === 'string'
}

/** Own settings have names of their own there: time-zone. */
function memberName(name: string): string {
  return name.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase())
}

/** That stands in the item's head, as a name. */
const LEFT_OUT = ['jobGroup', 'appname']

function flatten(values: Values | null): Values {
  const flat: Values = {}
  for (const [name, value] of Object.entries(values ?? {})) {
    if (name === 'settings' && typeof value === 'object' && value !== null) Object.assign(flat, value)
    else if (!LEFT_OUT.includes(name)) flat[memberName(name)] = value
  }
  return flat
}

/** Each member that differs, own settings beside those of the original. */
export function membersOf(before: Values | null, after: Values | null): Member[] {
  const [a, b] = [flatten(before), flatten(after)]
  const names = [...new Set([...Object.keys(a), ...Object.keys(b)])]
  return names
    .map((name) => ({ name, before: asText(a[name]), after: name === 'changes' ? linesOf(b[name]) : asText(b[name]) }))
    .filter((m) => m.before !== m.after)
}

/** Groups, then jobs, flows, rules and channels of alarms; what needs a look first. */
export function itemsOf(result: ImportResult): Item[] {
  const groups = result.groups.map((g) => ({ ...g, what: 'group' as const, name: g.appname }))
  const jobs = result.jobs.map((j) => ({ ...j, what: 'job' as const }))
  const flows = result.flows.map((f) => ({ ...f, what: 'flow' as const, appname: undefined }))
  const rules = result.rules.map((r) => ({ ...r, what: 'rule' as const, appname: undefined }))
  const channels = result.channels.map((c) => ({ ...c, what: 'channel' as const, appname: undefined }))
  const items = [...groups, ...jobs, ...flows, ...rules, ...channels].map(
    (i, at): Item => ({
      key: String(at),
      outcome: i.outcome,
      what: i.what,
      appname: i.appname,
      name: i.name,
      id: i.id,
      members: i.outcome === 'same' || i.outcome === 'refused' ? [] : membersOf(i.before as Values | null, i.after as Values | null),
      kind: i.kind,
      field: i.field ?? undefined,
      detail: i.detail ?? undefined,
    }),
  )
  const rank = (o: Outcome) => ['refused', 'left', 'change', 'create', 'same'].indexOf(o)
  return items.sort((a, b) => rank(a.outcome) - rank(b.outcome))
}
