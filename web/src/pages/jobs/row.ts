// SPDX-License-Identifier: MIT
/** row: what the row of a job shows of its fires. Pure. */
import type { Schemas } from '@/api/client'
import { isOver } from '@/model/run-words'
import { showTime } from '@/model/time'

export type Job = Schemas['Job']
export type Recent = Schemas['RecentRuns']['items'][number]
export type RecentRun = Recent['runs'][number]

export const TICKS = 20

export type Next = { kind: 'stopped' } | { kind: 'none' } | { kind: 'hand' } | { kind: 'at'; at: number }

/** The row as it is now: what the list has read of it ages, `recent` is asked for all the time. */
export function jobNow(job: Job, recent: Recent | undefined): Job {
  return recent ? { ...job, running: recent.running, nextFireAt: recent.nextFireAt } : job
}

/** The first due time that is to come: one that is planned already, else the next one behind those. */
export function nextOf(job: Job, runs: readonly RecentRun[], now: number): Next {
  const planned = runs
    .filter((r) => r.state === 'planned' && r.dueTime !== null)
    .map((r) => Date.parse(r.dueTime!))
    .filter((at) => at >= now - 1000)
  if (job.running && job.nextFireAt !== null) planned.push(Date.parse(job.nextFireAt))
  if (planned.length) return { kind: 'at', at: Math.min(...planned) }
  if (!job.running) return job.scheduleType === 'NONE' ? { kind: 'hand' } : { kind: 'stopped' }
  return { kind: 'none' }
}

/** The newest run that is not to come. */
export function lastOf(runs: readonly RecentRun[]): RecentRun | undefined {
  return runs.find((r) => r.state !== 'planned')
}

/** As a row of ticks reads: the oldest first, and no more than it has room for. */
export function ticksOf(runs: readonly RecentRun[]): RecentRun[] {
  return runs.slice(0, TICKS).reverse()
}

/** When it ended, or began where it has not. */
export function timeOf(run: RecentRun): string | null {
  return (isOver(run) ? run.handleTime : null) ?? run.triggerTime ?? run.dueTime
}

/** Each row once, in the order in which they came. */
export function unique<T extends { id: number }>(rows: readonly T[]): T[] {
  const seen = new Set<number>()
  return rows.filter((r) => !seen.has(r.id) && seen.add(r.id))
}

/**
 * Which rows to ask ticks for: those on screen, in whole blocks so that a small scroll asks for nothing new; never
 * more than one call takes.
 */
export function idsToAsk(ids: readonly number[], from: number, to: number, block = 20, most = 100): number[] {
  const first = Math.floor(from / block) * block
  return ids.slice(first, Math.min(Math.ceil(to / block) * block, first + most))
}

const NEAR_MS = 20 * 3_600_000

/** In the room that a row has: the clock, where a day cannot be meant; else the day and the minute. */
export function shortInstant(at: number, now: number, zone: string): string {
  const { date, clock } = showTime(at, zone)
  return Math.abs(at - now) < NEAR_MS ? clock : `${date.slice(5)} ${clock.slice(0, 5)}`
}
