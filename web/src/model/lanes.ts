// SPDX-License-Identifier: MIT
/**
 * lanes: causes below the due times of a job: what was done to it, when it was stopped, where its shard went, what was
 * away. Pure, as timeline.
 */
import type { Schemas } from '@/api/client'
import { placeOf, type View } from './timeline'

type AuditRow = Schemas['AuditRow']
type Event = Schemas['Event']

export const LANES = ['edits', 'stops', 'shard', 'cluster'] as const
export type Lane = (typeof LANES)[number]

/** One thing, or several that stand too close to be told apart. */
export interface LaneMark {
  lane: Lane
  x: number
  /** Of what has a length; 0: a point. */
  width: number
  at: number
  until: number
  changes: AuditRow[]
  events: Event[]
  /** A stop that began before the view, or goes on. */
  isStop: boolean
}

/** What keeps jobs from firing; other events are the usual course of things. */
const TROUBLE: readonly string[] = ['database-away', 'zookeeper-away', 'node-died', 'guard-lost', 'shard-lost', 'left-out']
export function isTrouble(event: Pick<Event, 'kind'>): boolean {
  return TROUBLE.includes(event.kind)
}

const SHARD_KINDS: readonly string[] = ['shard-taken', 'shard-handed-over', 'shard-lost']
const MERGE_PX = 14

function mark(lane: Lane, at: number, until: number): LaneMark {
  return { lane, x: 0, width: 0, at, until, changes: [], events: [], isStop: false }
}

function laneOfChange(row: AuditRow): Lane | undefined {
  switch (row.action) {
    case 'job.start':
    case 'job.stop':
      return 'stops'
    case 'job.add':
    case 'job.update':
    case 'job.remove':
    case 'glue.save':
      return 'edits'
    default:
      return undefined
  }
}

/** What was said of `running` by a change; undefined: nothing. */
function runningAfter(row: AuditRow): boolean | undefined {
  const value = (row.after as Record<string, unknown> | null)?.running
  if (typeof value === 'boolean') return value
  return row.action === 'job.remove' ? false : undefined
}

interface Turn {
  at: number
  running: boolean
  row?: AuditRow
  event?: Event
}

function turnsOf(changes: AuditRow[], events: Event[]): Turn[] {
  const turns: Turn[] = []
  for (const row of changes) {
    const running = runningAfter(row)
    if (running !== undefined) turns.push({ at: Date.parse(row.at), running, row })
  }
  for (const event of events)
    if (event.kind === 'job-changed' && event.facts.running !== undefined)
      turns.push({ at: Date.parse(event.at), running: event.facts.running, event })
  return turns.sort((a, b) => a.at - b.at)
}

/** Times during which the job stood still, from stop to start. `running`: whether it runs now; undefined: it has no
 * schedule, and never does. */
export function stopsOf(changes: AuditRow[], events: Event[], view: View, running: boolean | undefined): LaneMark[] {
  if (running === undefined) return []
  const turns = turnsOf(changes, events)
  const stops: LaneMark[] = []
  // Before the first turn it was the other way, if that is a start or a stop and not an edit that leaves it as it was.
  let open: LaneMark | undefined
  const first = turns[0]
  if (first?.row?.action === 'job.start' || (!first && !running)) open = mark('stops', view.from, view.to)
  for (const turn of turns) {
    if (!turn.running && !open) {
      open = mark('stops', turn.at, view.to)
    } else if (turn.running && open) {
      open.until = turn.at
      stops.push({ ...open, isStop: true })
      open = undefined
    } else continue
    const last = open ?? stops[stops.length - 1]!
    if (turn.row) last.changes.push(turn.row)
    if (turn.event) last.events.push(turn.event)
  }
  if (open) stops.push({ ...open, isStop: true })
  return stops
}

function pointsOf(changes: AuditRow[], events: Event[]): LaneMark[] {
  const points: LaneMark[] = []
  for (const row of changes)
    if (laneOfChange(row) === 'edits') {
      const at = Date.parse(row.at)
      points.push({ ...mark('edits', at, at), changes: [row] })
    }
  for (const event of events) {
    const at = Date.parse(event.at)
    const lane: Lane = event.kind === 'job-changed' ? 'edits' : SHARD_KINDS.includes(event.kind) ? 'shard' : 'cluster'
    points.push({ ...mark(lane, at, event.until ? Date.parse(event.until) : at), events: [event] })
  }
  return points.sort((a, b) => a.at - b.at)
}

/** Those of a lane that stand closer than their signs are wide become one. */
function merge(marks: LaneMark[], view: View, width: number): LaneMark[] {
  const out: LaneMark[] = []
  for (const m of marks) {
    const x = Math.max(0, placeOf(view, m.at, width))
    const end = Math.min(width, placeOf(view, m.until, width))
    const last = out[out.length - 1]
    if (last && x - (last.x + last.width) < MERGE_PX && !m.isStop) {
      if (last.width > 0 || m.until > m.at) last.width = Math.max(last.width, end - last.x)
      last.until = Math.max(last.until, m.until)
      last.changes.push(...m.changes)
      last.events.push(...m.events)
    } else {
      out.push({ ...m, x, width: m.until > m.at ? Math.max(3, end - x) : 0, changes: [...m.changes], events: [...m.events] })
    }
  }
  return out
}

export function lanesOf(changes: AuditRow[], events: Event[], view: View, width: number, running: boolean | undefined): Record<Lane, LaneMark[]> {
  const points = pointsOf(changes, events).filter((m) => m.until >= view.from && m.at < view.to)
  const of = (lane: Lane) => merge(points.filter((m) => m.lane === lane), view, width)
  return {
    edits: of('edits'),
    stops: merge(stopsOf(changes, events, view, running), view, width),
    shard: of('shard'),
    cluster: of('cluster'),
  }
}
