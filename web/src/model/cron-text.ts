// SPDX-License-Identifier: MIT
/**
 * cron-text: the text of a cron expression taken apart into choices, and put together again, for the builder and for
 * words. It says nothing of when a job fires: that is asked of the server. What it does not know for certain is `other`
 * and stays as it was typed. The dialect is docs/cron.md. Pure.
 */

export const CRON_FIELDS = ['second', 'minute', 'hour', 'day', 'month', 'weekday', 'year'] as const
export type CronField = (typeof CRON_FIELDS)[number]

export type CronChoice =
  | { kind: 'every' }
  | { kind: 'none' } // ?
  | { kind: 'range'; from: number; to: number }
  | { kind: 'step'; from: number | null; step: number; to?: number } // null: *
  | { kind: 'list'; values: number[] }
  | { kind: 'last' } // L, a day of the month
  | { kind: 'lastWorkday' } // LW
  | { kind: 'beforeLast'; days: number } // L-n
  | { kind: 'nearest'; day: number } // nW
  | { kind: 'lastOf'; day: number } // dL, a day of the week
  | { kind: 'nth'; day: number; n: number } // d#n
  | { kind: 'other'; text: string }
export type CronKind = CronChoice['kind']

export type CronChoices = Record<CronField, CronChoice>

interface Limits {
  min: number
  max: number
}

/** Years end where the builder's list does: what is beyond is typed. */
export const CRON_LIMITS: Record<CronField, Limits> = {
  second: { min: 0, max: 59 },
  minute: { min: 0, max: 59 },
  hour: { min: 0, max: 23 },
  day: { min: 1, max: 31 },
  month: { min: 1, max: 12 },
  weekday: { min: 1, max: 7 }, // 1: Sunday
  year: { min: 1970, max: 2099 },
}

const MONTHS = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC']
const WEEKDAYS = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT']

/** NaN: no value of the field. */
function readValue(field: CronField, text: string): number {
  const names = field === 'month' ? MONTHS : field === 'weekday' ? WEEKDAYS : []
  const named = names.indexOf(text)
  if (named >= 0) return named + 1
  const { min, max } = CRON_LIMITS[field]
  const value = /^\d{1,4}$/.test(text) ? Number(text) : NaN
  return value >= min && value <= max ? value : NaN
}

function readStep(field: CronField, item: string): CronChoice | undefined {
  const match = /^(\*|\d+)(?:-(\d+))?\/(\d{1,2})$/.exec(item) // behind names a step is ignored: MON/2 is MON
  if (!match) return undefined
  const { min, max } = CRON_LIMITS[field]
  const step = Number(match[3])
  if (step < 1 || step > max - (min === 0 ? 0 : min - 1)) return undefined
  if (match[1] === '*') return match[2] === undefined ? { kind: 'step', from: null, step } : undefined
  const from = readValue(field, match[1]!)
  if (Number.isNaN(from)) return undefined
  if (match[2] === undefined) return { kind: 'step', from, step }
  const to = readValue(field, match[2])
  return to > from ? { kind: 'step', from, step, to } : undefined
}

function readRange(field: CronField, item: string): CronChoice | undefined {
  const match = /^(?=[A-Z]+-[A-Z]+$|\d+-\d+$)(.+)-(.+)$/.exec(item)
  if (!match) return undefined
  const from = readValue(field, match[1]!)
  const to = readValue(field, match[2]!)
  return to > from ? { kind: 'range', from, to } : undefined
}

function readDay(item: string): CronChoice | undefined {
  if (item === 'L') return { kind: 'last' }
  if (item === 'LW') return { kind: 'lastWorkday' }
  const before = /^L-(\d{1,2})$/.exec(item)
  if (before && +before[1]! >= 1 && +before[1]! <= 30) return { kind: 'beforeLast', days: +before[1]! }
  const near = /^(\d{1,2})W$/.exec(item)
  return near && +near[1]! >= 1 && +near[1]! <= 31 ? { kind: 'nearest', day: +near[1]! } : undefined
}

function readWeekday(item: string): CronChoice | undefined {
  const match = /^([A-Z]{3}|\d)(?:L|#([1-5]))$/.exec(item)
  const day = match ? readValue('weekday', match[1]!) : NaN
  if (!match || Number.isNaN(day)) return undefined
  return match[2] === undefined ? { kind: 'lastOf', day } : { kind: 'nth', day, n: +match[2] }
}

/** The values of an item that is a value or a range, for lists. */
function expand(field: CronField, item: string): number[] | undefined {
  const value = readValue(field, item)
  if (!Number.isNaN(value)) return [value]
  const range = readRange(field, item)
  if (range?.kind !== 'range') return undefined
  return Array.from({ length: range.to - range.from + 1 }, (_, i) => range.from + i)
}

function readList(field: CronField, items: string[]): CronChoice | undefined {
  const values = new Set<number>()
  for (const item of items) {
    const some = expand(field, item)
    if (!some) return undefined
    for (const value of some) values.add(value)
  }
  return { kind: 'list', values: [...values].sort((a, b) => a - b) }
}

/** One field of an expression, without blanks around it. */
export function readCronField(field: CronField, text: string): CronChoice {
  const item = text.toUpperCase()
  if (item === '*') return { kind: 'every' }
  if (item === '?' && (field === 'day' || field === 'weekday')) return { kind: 'none' }
  const own = field === 'day' ? readDay(item) : field === 'weekday' ? readWeekday(item) : undefined
  return (
    own ??
    readRange(field, item) ??
    readStep(field, item) ??
    readList(field, item.split(',')) ?? { kind: 'other', text }
  )
}

/** Undefined: not six or seven fields. No year is every year. */
export function readCron(text: string): CronChoices | undefined {
  const parts = text.trim().split(/[ \t]+/)
  if (parts.length < 6 || parts.length > 7 || /[\r\n]/.test(text.trim())) return undefined
  const choices = {} as CronChoices
  CRON_FIELDS.forEach((field, i) => (choices[field] = readCronField(field, parts[i] ?? '*')))
  return choices
}

function writeValue(field: CronField, value: number): string {
  return field === 'weekday' ? (WEEKDAYS[value - 1] ?? String(value)) : String(value)
}

export function writeCronField(field: CronField, choice: CronChoice): string {
  const value = (n: number) => writeValue(field, n)
  switch (choice.kind) {
    case 'every':
      return '*'
    case 'none':
      return '?'
    case 'range':
      return `${value(choice.from)}-${value(choice.to)}`
    case 'step': {
      const { from, to, step } = choice
      return from === null ? `*/${step}` : to === undefined ? `${from}/${step}` : `${from}-${to}/${step}`
    }
    case 'list':
      return choice.values.map(value).join(',')
    case 'last':
      return 'L'
    case 'lastWorkday':
      return 'LW'
    case 'beforeLast':
      return `L-${choice.days}`
    case 'nearest':
      return `${choice.day}W`
    case 'lastOf':
      return `${choice.day}L`
    case 'nth':
      return `${choice.day}#${choice.n}`
    case 'other':
      return choice.text
  }
}

export function writeCron(choices: CronChoices): string {
  const parts = CRON_FIELDS.map((field) => writeCronField(field, choices[field]))
  if (choices.year.kind === 'every') parts.pop()
  return parts.join(' ')
}

/** With one field chosen anew. Exactly one of the two fields of days is `?`: the other one makes room. */
export function withChoice(choices: CronChoices, field: CronField, choice: CronChoice): CronChoices {
  const next = { ...choices, [field]: choice }
  if (field !== 'day' && field !== 'weekday') return next
  const other = field === 'day' ? 'weekday' : 'day'
  if (choice.kind === 'none' && next[other].kind === 'none') next[other] = { kind: 'every' }
  if (choice.kind !== 'none' && next[other].kind !== 'none') next[other] = { kind: 'none' }
  return next
}

/** All values that a choice names, in order; undefined where it names no plain values. */
export function valuesOf(field: CronField, choice: CronChoice): number[] | undefined {
  const { min, max } = CRON_LIMITS[field]
  const count = (from: number, to: number, step: number) => {
    const values: number[] = []
    for (let n = from; n <= to; n += step) values.push(n)
    return values
  }
  switch (choice.kind) {
    case 'every':
      return count(min, max, 1)
    case 'range':
      return count(choice.from, choice.to, 1)
    case 'step':
      return count(choice.from ?? min, choice.to ?? max, choice.step)
    case 'list':
      return choice.values
    default:
      return undefined
  }
}
