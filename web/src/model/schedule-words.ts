// SPDX-License-Identifier: MIT
/**
 * schedule-words: when a job fires, in a few words: "every 5 min", "02:30 daily", "Mon–Fri 09:00". Where no short and
 * true words are known it gives '' and the expression stands alone. It decides nothing. Pure.
 */
import type { Schemas } from '@/api/client'
import type { MessageKey, Translate } from '@/i18n'
import { readCron, valuesOf, type CronChoice, type CronChoices } from './cron-text'

export interface WordedSchedule {
  scheduleType: string | null
  scheduleConf: string | null
  settings?: Partial<Schemas['Job']['settings']>
}

/** So many times or days are still words. */
const FEW = 5

interface Time {
  /** "02:30", or "every 5 min". */
  words: string
  repeats: boolean
  /** Nothing of it is said by the clock: the zone does not matter. */
  anywhere: boolean
}

const two = (n: number) => String(n).padStart(2, '0')
const day = (n: number, t: Translate) => t(`schedule.day.d${n}` as MessageKey)
const month = (n: number, t: Translate) => t(`schedule.month.m${n}` as MessageKey)

function clock(h: number, m: number, s: number): string {
  return s === 0 ? `${two(h)}:${two(m)}` : `${two(h)}:${two(m)}:${two(s)}`
}

/** The even step of a choice around the whole clock, 0 where there is none. `*` is 1. */
function evenStep(choice: CronChoice, size: number): number {
  if (choice.kind === 'every') return 1
  const values = valuesOf('minute', choice)
  if (choice.kind === 'other' || !values || values.length < 2) return 0
  if (choice.kind === 'step' && choice.to !== undefined) return 0
  const all = choice.kind === 'step' ? values.filter((v) => v < size) : values
  const step = all[1]! - all[0]!
  const even = all.every((v, i) => i === 0 || v - all[i - 1]! === step)
  return even && step * all.length === size ? step : 0
}

function seconds(n: number, t: Translate): string {
  return n === 1 ? t('schedule.everySecond') : t('schedule.everySeconds', { n })
}

function minutes(n: number, t: Translate): string {
  return n === 1 ? t('schedule.everyMinute') : t('schedule.everyMinutes', { n })
}

function hours(n: number, t: Translate): string {
  return n === 1 ? t('schedule.everyHour') : t('schedule.everyHours', { n })
}

/** The first and the last hour of a run of hours without a gap. */
function hourSpan(choice: CronChoice): [number, number] | undefined {
  const values = choice.kind === 'every' ? undefined : valuesOf('hour', choice)
  if (!values?.length) return undefined
  const last = values[values.length - 1]!
  return last - values[0]! === values.length - 1 ? [values[0]!, last] : undefined
}

function secondsTime(c: CronChoices, t: Translate): Time | undefined {
  const step = evenStep(c.second, 60)
  if (step === 0 || c.minute.kind !== 'every' || c.hour.kind !== 'every') return undefined
  return { words: seconds(step, t), repeats: true, anywhere: true }
}

/** Every few minutes, all day or in some hours; the second is fixed. */
function minutesTime(c: CronChoices, second: number, t: Translate): Time | undefined {
  const step = evenStep(c.minute, 60)
  if (step === 0) return undefined
  const every = minutes(step, t)
  if (c.hour.kind === 'every') return { words: every, repeats: true, anywhere: true }
  const span = hourSpan(c.hour)
  if (!span) return undefined
  const all = valuesOf('minute', c.minute)!
  const from = clock(span[0], all[0]!, second)
  const to = clock(span[1], all[all.length - 1]!, second)
  return { words: t('schedule.between', { every, from, to }), repeats: true, anywhere: false }
}

/** Every few hours, at a fixed minute and second. */
function hoursTime(c: CronChoices, minute: number, second: number, t: Translate): Time | undefined {
  const step = evenStep(c.hour, 24)
  if (step > 0) {
    const every = hours(step, t)
    if (minute === 0 && second === 0) return { words: every, repeats: true, anywhere: step === 1 }
    const key = second === 0 ? 'schedule.pastHour' : 'schedule.pastHourSeconds'
    return { words: t(key, { every, m: two(minute), s: two(second) }), repeats: true, anywhere: false }
  }
  const span = hourSpan(c.hour)
  if (!span || span[1] - span[0] < 3) return undefined
  const [from, to] = span.map((h) => clock(h, minute, second))
  return { words: t('schedule.between', { every: hours(1, t), from, to }), repeats: true, anywhere: false }
}

/** A few times of the day. */
function fewTimes(c: CronChoices, second: number, t: Translate): Time | undefined {
  const h = valuesOf('hour', c.hour)
  const m = valuesOf('minute', c.minute)
  if (!h || !m || h.length * m.length > FEW) return undefined
  const times = h.flatMap((hour) => m.map((minute) => clock(hour, minute, second)))
  return { words: times.join(t('schedule.and')), repeats: false, anywhere: false }
}

function single(choice: CronChoice): number | undefined {
  return choice.kind === 'list' && choice.values.length === 1 ? choice.values[0] : undefined
}

function timeOf(c: CronChoices, t: Translate): Time | undefined {
  const second = single(c.second)
  if (second === undefined) return secondsTime(c, t)
  const minute = single(c.minute)
  return (
    minutesTime(c, second, t) ??
    (minute === undefined ? undefined : hoursTime(c, minute, second, t)) ??
    fewTimes(c, second, t)
  )
}

function weekdays(choice: CronChoice, t: Translate): string | undefined {
  const values = valuesOf('weekday', choice)
  if (!values) return undefined
  const monday = [...values].sort((a, b) => ((a + 5) % 7) - ((b + 5) % 7))
  const isRun = monday.every((v, i) => i === 0 || (v + 5) % 7 === ((monday[i - 1]! + 5) % 7) + 1)
  if (isRun && monday.length > 2)
    return t('schedule.range', { from: day(monday[0]!, t), to: day(monday[monday.length - 1]!, t) })
  return monday.length > FEW ? undefined : monday.map((n) => day(n, t)).join(t('schedule.and'))
}

function monthDays(choice: CronChoice, t: Translate): string | undefined {
  const values = valuesOf('day', choice)
  if (!values) return undefined
  const { length } = values
  const isRun = length > 2 && values[length - 1]! - values[0]! === length - 1
  if (!isRun && length > FEW) return undefined
  const days = isRun
    ? t('schedule.range', { from: String(values[0]), to: String(values[length - 1]) })
    : values.join(t('schedule.and'))
  return t('schedule.dayOfMonth', { days }, length === 1 ? 1 : 2)
}

/** Days that the calendar moves. Those that W moves are only certain with one time a day. */
function movingDays(c: CronChoices, oneTime: boolean, t: Translate): string | undefined {
  switch (c.day.kind) {
    case 'last':
      return t('schedule.lastDay')
    case 'lastWorkday':
      return oneTime ? t('schedule.lastWorkday') : undefined
    case 'nearest':
      return oneTime && c.day.day <= 28 ? t('schedule.nearestWorkday', { n: c.day.day }) : undefined
    case 'beforeLast':
      return c.day.days <= 27 ? t('schedule.beforeLast', { n: c.day.days }, c.day.days === 1 ? 1 : 2) : undefined
    case 'none':
      break
    default:
      return undefined
  }
  if (c.weekday.kind === 'lastOf') return t('schedule.lastOf', { day: day(c.weekday.day, t) })
  if (c.weekday.kind !== 'nth') return undefined
  const n = t(`schedule.ordinal.n${c.weekday.n}` as MessageKey)
  return t('schedule.nth', { n, day: day(c.weekday.day, t) })
}

function isAllMonths(c: CronChoices): boolean {
  return valuesOf('month', c.month)?.length === 12
}

function monthsOf(choice: CronChoice, t: Translate): string | undefined {
  const values = valuesOf('month', choice)
  if (!values) return undefined
  const { length } = values
  if (length > 2 && values[length - 1]! - values[0]! === length - 1)
    return t('schedule.range', { from: month(values[0]!, t), to: month(values[length - 1]!, t) })
  return length > FEW ? undefined : values.map((n) => month(n, t)).join(t('schedule.and'))
}

function isEvery(choice: CronChoice, field: 'day' | 'weekday'): boolean {
  return choice.kind === 'every' || valuesOf(field, choice)?.length === (field === 'day' ? 31 : 7)
}

/** Times and days, without the months. */
function daysWords(c: CronChoices, time: Time, t: Translate): string | undefined {
  if ((c.day.kind === 'none') === (c.weekday.kind === 'none')) return undefined
  const isDaily = c.day.kind === 'none' ? isEvery(c.weekday, 'weekday') : isEvery(c.day, 'day')
  if (isDaily) return time.repeats ? time.words : t('schedule.daily', { time: time.words })
  const plain = c.day.kind === 'none' ? weekdays(c.weekday, t) : undefined
  if (plain)
    return t(time.repeats ? 'schedule.onWeekdaysRepeat' : 'schedule.onWeekdays', { time: time.words, days: plain })
  const isOneTime = [c.second, c.minute, c.hour].every((choice) => single(choice) !== undefined)
  const days = (c.day.kind === 'none' ? undefined : monthDays(c.day, t)) ?? movingDays(c, isOneTime, t)
  return days && t(time.repeats ? 'schedule.onDaysRepeat' : 'schedule.onDays', { time: time.words, days })
}

function cronWords(text: string, t: Translate): { words: string; anywhere: boolean } | undefined {
  const c = readCron(text)
  const time = c && c.year.kind === 'every' ? timeOf(c, t) : undefined
  if (!c || !time) return undefined
  if (isAllMonths(c)) {
    const words = daysWords(c, time, t)
    return words === undefined ? undefined : { words, anywhere: time.anywhere && words === time.words }
  }
  const oneDay = single(c.day)
  const oneMonth = single(c.month)
  if ((oneDay ?? 1) > 28) return undefined // not every month has it
  if (oneDay !== undefined && oneMonth !== undefined && c.weekday.kind === 'none') {
    const date = t('schedule.date', { day: oneDay, month: month(oneMonth, t) })
    return { words: t('schedule.onDate', { time: time.words, date }), anywhere: false }
  }
  const words = daysWords(c, time, t)
  const months = monthsOf(c.month, t)
  return words && months ? { words: t('schedule.inMonths', { words, months }), anywhere: false } : undefined
}

/** "every 90 s", "every 5 min": the largest unit that fits. */
function rateWords(n: number, t: Translate): string {
  if (n % 86_400 === 0) return t('schedule.everyDays', { n: n / 86_400 })
  if (n % 3600 === 0) return hours(n / 3600, t)
  if (n % 60 === 0) return minutes(n / 60, t)
  return seconds(n, t)
}

function lengthWords(n: number, t: Translate): string {
  if (n % 86_400 === 0) return t('common.unit.d', { n: n / 86_400 })
  if (n % 3600 === 0) return t('common.unit.h', { n: n / 3600 })
  if (n % 60 === 0) return t('common.unit.min', { n: n / 60 })
  return t('common.unit.s', { n })
}

export function scheduleWords(job: WordedSchedule, t: Translate): string {
  if (job.scheduleType === 'NONE') return t('schedule.none')
  const conf = job.scheduleConf ?? ''
  if (job.scheduleType === 'FIX_RATE') {
    const n = /^\d{1,10}$/.test(conf) ? Number(conf) : 0
    if (n < 1 || n > 2_147_483_647) return ''
    // A job has a fixed delay while its columns say the same number of seconds.
    return job.settings?.fixedDelaySeconds === n
      ? t('schedule.delay', { time: lengthWords(n, t) })
      : rateWords(n, t)
  }
  if (job.scheduleType !== 'CRON') return ''
  const found = cronWords(conf, t)
  if (!found) return ''
  const zone = job.settings?.timeZone
  return zone && !found.anywhere ? t('schedule.inZone', { words: found.words, zone }) : found.words
}
