// SPDX-License-Identifier: MIT
/** why: what to show of due times around a time that somebody asks about. Pure. */
import type { Schemas } from '@/api/client'
import { isOdd } from './ticks'
import { parseInZone, showTime } from './time'
import { stateOfDue } from './timeline'

type Explained = Schemas['ExplainedTime']
const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** How far from the time is looked, one after the other, until something was due. */
export const REACHES = [15 * MINUTE, DAY, 3.5 * DAY - MINUTE] as const
export const AROUND = 5

export interface Answer {
  /** In the minute that was asked for. */
  then: Explained[]
  /** Nearest first. */
  before: Explained[]
  after: Explained[]
}

/** People give minutes: what was due in that minute was due then. `:05` of a time with seconds is that second's minute. */
export function answerOf(items: Explained[], at: number, run?: number): Answer {
  const asked = run === undefined ? undefined : items.find((i) => i.runs.includes(run))
  if (asked) return around(items, [asked], Date.parse(asked.due), Date.parse(asked.due) + 1)
  const start = Math.floor(at / MINUTE) * MINUTE
  const then = items.filter((i) => Date.parse(i.due) >= start && Date.parse(i.due) < start + MINUTE)
  return around(items, then, start, start + MINUTE)
}

function around(items: Explained[], then: Explained[], from: number, to: number): Answer {
  const time = (i: Explained) => Date.parse(i.due)
  return {
    then,
    before: items.filter((i) => time(i) < from).reverse().slice(0, AROUND),
    after: items.filter((i) => time(i) >= to).slice(0, AROUND),
  }
}

/** The time that causes are shown of: from the due time before to the one behind, and a little more. */
export function causeSpan(answer: Answer, at: number): { from: number; to: number } {
  const before = answer.before[0]
  const after = answer.after[0]
  const from = before ? Date.parse(before.due) : at - REACHES[0]
  const to = after ? Date.parse(after.due) : at + REACHES[0]
  return { from: Math.max(from, at - DAY) - MINUTE, to: Math.min(to, at + DAY) + MINUTE }
}

export const QUICK = ['now', 'hour', 'night', 'midnight'] as const
export type Quick = (typeof QUICK)[number]

/** Of the clock in a zone; the last time that it was so late. */
function lastTime(clock: string, now: number, zone: string): number {
  const today = parseInZone(`${showTime(now, zone).date} ${clock}`, zone)
  return today <= now ? today : parseInZone(`${showTime(now - DAY, zone).date} ${clock}`, zone)
}

export function quickTime(quick: Quick, now: number, zone: string): number {
  switch (quick) {
    case 'now':
      return now
    case 'hour':
      return now - HOUR
    case 'night':
      return lastTime('02:30', now, zone)
    case 'midnight':
      return lastTime('00:00', now, zone)
  }
}

export function lastProblem(items: Explained[]): Explained | undefined {
  return items.findLast((item) => isOdd(stateOfDue(item.state)))
}

/** For a field of date and time. */
export function fieldText(at: number, zone: string): string {
  const { date, clock } = showTime(at, zone)
  return `${date}T${clock.endsWith(':00') ? clock.slice(0, 5) : clock}`
}
