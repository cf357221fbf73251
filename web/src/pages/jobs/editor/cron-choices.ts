// SPDX-License-Identifier: MIT
/** cron-choices: what the builder offers in each tab, and where each choice begins. Pure. */
import { CRON_LIMITS, valuesOf, type CronChoice, type CronField, type CronKind } from '@/model/cron-text'

const COMMON: CronKind[] = ['every', 'range', 'step', 'list']

export const CHOICES: Record<CronField, CronKind[]> = {
  second: COMMON,
  minute: COMMON,
  hour: COMMON,
  day: ['every', 'none', 'range', 'step', 'list', 'last', 'beforeLast', 'lastWorkday', 'nearest'],
  month: COMMON,
  weekday: ['every', 'none', 'range', 'list', 'lastOf', 'nth'],
  year: ['every', 'range', 'list'],
}

/** Expressions that are wanted often; their words are those of every schedule. */
export const PRESETS = [
  '0 * * * * ?',
  '0 */5 * * * ?',
  '0 */30 * * * ?',
  '0 0 * * * ?',
  '0 30 2 * * ?',
  '0 0 9 ? * MON-FRI',
  '0 0 9 ? * MON',
  '0 0 3 1 * ?',
  '0 0 3 L * ?',
]

/** The values that can be ticked: all of a field, some years. */
export function offered(field: CronField, thisYear: number): number[] {
  const { min, max } = CRON_LIMITS[field]
  const from = field === 'year' ? thisYear : min
  const to = field === 'year' ? Math.min(thisYear + 11, max) : max
  return Array.from({ length: to - from + 1 }, (_, i) => from + i)
}

/** Where a kind begins when it is chosen: near to what stood there. */
export function startOf(field: CronField, kind: CronKind, before: CronChoice, thisYear: number): CronChoice {
  const { min, max } = CRON_LIMITS[field]
  const low = field === 'year' ? thisYear : min
  const first = valuesOf(field, before)?.[0] ?? low
  const isAll = before.kind === 'every' || before.kind === 'none'
  switch (kind) {
    case 'range':
      if (isAll && field === 'weekday') return { kind, from: 2, to: 6 }
      return { kind, from: Math.min(isAll ? low : first, max - 1), to: field === 'year' ? thisYear + 1 : max }
    case 'step':
      return { kind, from: isAll ? min : first, step: field === 'hour' ? 2 : field === 'month' ? 3 : 5 }
    case 'list':
      if (!isAll && before.kind !== 'list') return { kind, values: [first] }
      return { kind, values: [field === 'weekday' ? 2 : low] }
    case 'beforeLast':
      return { kind, days: 1 }
    case 'nearest':
      return { kind, day: isAll ? 15 : first }
    case 'lastOf':
      return { kind, day: isAll ? 6 : first }
    case 'nth':
      return { kind, day: isAll ? 2 : first, n: 1 }
    case 'other':
      return before
    default:
      return { kind }
  }
}

/** With a value ticked or not; the last one stays. */
export function toggle(choice: CronChoice, value: number): CronChoice {
  const values = choice.kind === 'list' ? choice.values : []
  const next = values.includes(value) ? values.filter((v) => v !== value) : [...values, value].sort((a, b) => a - b)
  return next.length ? { kind: 'list', values: next } : choice
}

/** A number as typed into a choice; what is no number of the field leaves it as it was. */
export function withNumber(field: CronField, choice: CronChoice, part: string, text: string): CronChoice {
  const { min, max } = CRON_LIMITS[field]
  const low = ['step', 'n', 'days'].includes(part) ? 1 : min
  const high = part === 'n' ? 5 : part === 'days' ? 30 : part === 'step' ? Math.max(1, max - Math.max(0, min - 1)) : max
  const value = /^\d+$/.test(text) ? Number(text) : NaN
  if (!(value >= low && value <= high)) return choice
  const next = { ...choice, [part]: value } as CronChoice
  if (next.kind !== 'range' || next.to > next.from) return next
  return part === 'from' ? { ...next, to: Math.min(max, next.from + 1) } : { ...next, from: Math.max(min, next.to - 1) }
}
