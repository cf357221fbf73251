// SPDX-License-Identifier: MIT
/** strip: the minutes of the history as columns of a heat strip: which steps, how dark, what went wrong. Pure. */
import type { Schemas } from '@/api/client'
import { showTime } from '@/model/time'

export type Point = Schemas['MinutePoint']

const MINUTE = 60_000
const HOUR = 60 * MINUTE

/** How far back it goes, and how long a column is: as many columns as a screen has room for. */
export const SPANS = {
  '6h': { step: 'minute', stepMs: MINUTE, lengthMs: 6 * HOUR, labelMs: HOUR },
  '24h': { step: '5minutes', stepMs: 5 * MINUTE, lengthMs: 24 * HOUR, labelMs: 3 * HOUR },
  '8d': { step: 'hour', stepMs: HOUR, lengthMs: 192 * HOUR, labelMs: 24 * HOUR },
} as const
export type SpanName = keyof typeof SPANS
export const SPAN_NAMES = Object.keys(SPANS) as SpanName[]

/** Fires of a column in which the slowest hundredth was later than this are late, in milliseconds. */
export const LATE_MS = 1000
export const SHADES = 5

export interface Range {
  from: string
  to: string
}

/** Up to and with the step that is not over. */
export function rangeOf(name: SpanName, now: number): Range {
  const { stepMs, lengthMs } = SPANS[name]
  const to = (Math.floor(now / stepMs) + 1) * stepMs
  return { from: new Date(to - lengthMs).toISOString(), to: new Date(to).toISOString() }
}

/** Whole minutes, so that all who look within one ask the same: the last hour, and the one before. */
export function hourOf(now: number, hoursAgo: number): Range {
  const to = Math.floor(now / MINUTE) * MINUTE - hoursAgo * HOUR
  return { from: new Date(to - HOUR).toISOString(), to: new Date(to).toISOString() }
}

export interface Column {
  from: number
  to: number
  fires: number
  /** Runs that failed, and fires that could not be delivered. */
  wrong: number
  p99: number | null
  /** 0: nothing; up to SHADES. */
  shade: number
  /** Part of its height that is red. */
  cap: number
  late: boolean
}

/** Few among many are to be seen: by the root. */
function shadeOf(fires: number, most: number): number {
  if (fires <= 0) return 0
  return Math.max(1, Math.ceil(Math.sqrt(fires / most) * SHADES))
}

export function wrongOf(p: Pick<Point, 'failed' | 'undelivered'>): number {
  return p.failed + p.undelivered
}

export function columnsOf(points: readonly Point[], stepMs: number): Column[] {
  const most = Math.max(1, ...points.map((p) => p.fires))
  return points.map((p) => {
    const from = Date.parse(p.from)
    const wrong = wrongOf(p)
    const part = wrong / Math.max(1, p.fires, wrong)
    return {
      from,
      to: from + stepMs,
      fires: p.fires,
      wrong,
      p99: p.p99LatenessMilliseconds,
      shade: shadeOf(p.fires, most),
      cap: wrong ? Math.max(0.2, part) : 0,
      late: (p.p99LatenessMilliseconds ?? 0) >= LATE_MS,
    }
  })
}

export interface Label {
  /** Of the strip's width. */
  at: number
  text: string
}

/** Clock times at full hours, or dates at midnight, as the zone has them. */
export function labelsOf(columns: readonly Column[], name: SpanName, zone: string): Label[] {
  const hours = SPANS[name].labelMs / HOUR
  const labels: Label[] = []
  columns.forEach((column, i) => {
    const { date, clock } = showTime(column.from, zone)
    const [h, m] = clock.split(':').map(Number) as [number, number]
    if (m !== 0 || h % hours !== 0) return
    labels.push({ at: i / columns.length, text: hours === 24 ? date.slice(5) : clock.slice(0, 5) })
  })
  return labels
}

/** Change against the time before, in whole per cent; null where there was nothing before. */
export function changeOf(now: number | null, before: number | null): number | null {
  if (now === null || !before) return null
  return Math.round(((now - before) / before) * 100)
}
