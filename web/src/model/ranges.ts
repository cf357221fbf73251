// SPDX-License-Identifier: MIT
/** ranges: the times that a list of runs is narrowed to: quick choices, or from and to of one's own. Pure. */
import { parseInZone, showTime } from './time'

export const RANGES = ['any', 'hour', 'today', 'yesterday', 'week', 'own'] as const
export type Range = (typeof RANGES)[number]

export interface Span {
  from?: string
  to?: string
}

const HOUR = 3_600_000
const DAY = 24 * HOUR

/** 00:00 of the day in which `at` is, in the zone. */
export function startOfDay(at: number, zone: string): number {
  return parseInZone(`${showTime(at, zone).date} 00:00`, zone)
}

const iso = (at: number) => new Date(at).toISOString()

/** What a choice means now. Own ends count for `own` alone. */
export function resolveRange(range: Range, own: Span, now: number, zone: string): Span {
  switch (range) {
    case 'any':
      return {}
    case 'hour':
      return { from: iso(now - HOUR) }
    case 'today':
      return { from: iso(startOfDay(now, zone)) }
    case 'yesterday': {
      const end = startOfDay(now, zone)
      return { from: iso(startOfDay(end - DAY / 2, zone)), to: iso(end - 1000) }
    }
    case 'week':
      return { from: iso(now - 7 * DAY) }
    case 'own':
      return { ...(own.from ? { from: own.from } : {}), ...(own.to ? { to: own.to } : {}) }
  }
}

/** Links of other pages say from and to without a range. */
export function rangeOf(range: Range, own: Span): Range {
  return range === 'any' && (own.from || own.to) ? 'own' : range
}

/** What somebody typed as a time in the zone; '' for nothing, undefined for what is no time. */
export function readOwn(text: string, zone: string): string | undefined {
  if (!text.trim()) return ''
  const at = parseInZone(/^\d{4}-\d{2}-\d{2}$/.test(text.trim()) ? `${text.trim()} 00:00` : text, zone)
  return Number.isFinite(at) ? iso(at) : undefined
}
