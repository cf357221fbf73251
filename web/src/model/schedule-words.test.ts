// SPDX-License-Identifier: MIT
import { readFileSync } from 'node:fs'
import { beforeEach, expect, test } from 'vitest'
import { i18n, translate } from '@/i18n'
import en from '@/i18n/en'
import zhCN from '@/i18n/zh-CN'
import zhTW from '@/i18n/zh-TW'
import { scheduleWords } from './schedule-words'
import { showTime } from './time'

beforeEach(() => {
  i18n.global.setLocaleMessage('en', en as never)
  i18n.global.setLocaleMessage('zh-CN', zhCN as never)
  i18n.global.setLocaleMessage('zh-TW', zhTW as never)
  speak('en')
})

function speak(language: string): void {
  ;(i18n.global.locale as { value: string }).value = language
}

function cron(scheduleConf: string, timeZone: string | null = null): string {
  return scheduleWords({ scheduleType: 'CRON', scheduleConf, settings: { timeZone } }, translate)
}

const WORDS: [string, string][] = [
  ['* * * * * ?', 'every second'],
  ['0/30 * * * * ?', 'every 30 s'],
  ['*/5 * * * * ?', 'every 5 s'],
  ['0/7 * * * * ?', ''],
  ['0 * * * * ?', 'every minute'],
  ['0 */5 * * * ?', 'every 5 min'],
  ['0 0/5 * * * ?', 'every 5 min'],
  ['15 2/5 * * * ?', 'every 5 min'],
  ['0 0,15,30,45 * * * ?', 'every 15 min'],
  ['0 0/25 * * * ?', ''],
  ['0 0 * * * ?', 'every hour'],
  ['0 5 * * * ?', 'every hour at :05'],
  ['30 5 * * * ?', 'every hour at :05:30'],
  ['0 0 */2 * * ?', 'every 2 h'],
  ['0 30 1/6 * * ?', 'every 6 h at :30'],
  ['0 0 */5 * * ?', '00:00, 05:00, 10:00, 15:00, 20:00 daily'],
  ['0 0 */7 * * ?', '00:00, 07:00, 14:00, 21:00 daily'],
  ['0 30 2 * * ?', '02:30 daily'],
  ['0 30 2 ? * *', '02:30 daily'],
  ['5 30 2 * * ?', '02:30:05 daily'],
  ['0 30 2 * * ? *', '02:30 daily'],
  ['0 0 8,12,18 * * ?', '08:00, 12:00, 18:00 daily'],
  ['0 0,30 9 * * ?', 'every 30 min from 09:00 to 09:30'],
  ['0 0 9-18 * * ?', 'every hour from 09:00 to 18:00'],
  ['0 0/20 9-17 ? * MON-FRI', 'every 20 min from 09:00 to 17:40, Mon–Fri'],
  ['0 * 9-17 * * ?', 'every minute from 09:00 to 17:59'],
  ['0 0 9 ? * MON-FRI', 'Mon–Fri 09:00'],
  ['0 0 9 ? * 2-6', 'Mon–Fri 09:00'],
  ['0 0 9 ? * 2', 'Mon 09:00'],
  ['0 0 9 ? * SAT,SUN', 'Sat, Sun 09:00'],
  ['0 0 9 ? * 1,2,3,4,5,6,7', '09:00 daily'],
  ['0 0 9 ? * MON-SAT', 'Mon–Sat 09:00'],
  ['0 0 9 ? * FRI-MON', ''],
  ['0 0 9 ? * MON/2', ''],
  ['0 0/10 * ? * MON', 'every 10 min, Mon'],
  ['0 0 3 1 * ?', '03:00 on day 1 of the month'],
  ['0 0 3 1,15 * ?', '03:00 on days 1, 15 of the month'],
  ['0 0 3 1-5 * ?', '03:00 on days 1–5 of the month'],
  ['0 0 3 L * ?', '03:00 on the last day of the month'],
  ['0 0 3 LW * ?', '03:00 on the last weekday (Mon–Fri) of the month'],
  ['0 0 3,4 LW * ?', ''],
  ['0 0 3 15W * ?', '03:00 on the weekday (Mon–Fri) nearest to day 15 of the month'],
  ['0 0 3 31W * ?', ''],
  ['0 0 3 L-1 * ?', '03:00 on the day before the last day of the month'],
  ['0 0 3 L-3 * ?', '03:00 on 3 days before the last day of the month'],
  ['0 0 3 ? * 6L', '03:00 on the last Fri of the month'],
  ['0 0 3 ? * 2#1', '03:00 on the 1st Mon of the month'],
  ['0 0 3 1 1 ?', '03:00 on 1 Jan'],
  ['0 0 3 29 2 ?', ''],
  ['0 0 3 1 1/3 ?', '03:00 on day 1 of the month, Jan, Apr, Jul, Oct only'],
  ['0 30 2 * 6-8 ?', '02:30 daily, Jun–Aug only'],
  ['0 30 2 * * ? 2027', ''],
  ['0 30 2 * * *', ''],
  ['0 30 2 ? * ?', ''],
  ['0 30 25 * * ?', ''],
  ['0 30 2 * *', ''],
  ['0 0 22-2 * * ?', ''],
  ['0 99 * * * ?', ''],
  ['', ''],
  ['never', ''],
]

test('an expression in words, or nothing', () => {
  for (const [text, words] of WORDS) expect(cron(text), text).toBe(words)
})

test('rates, delays and no schedule', () => {
  const of = (scheduleType: string, scheduleConf: string | null, fixedDelaySeconds: number | null = null) =>
    scheduleWords({ scheduleType, scheduleConf, settings: { fixedDelaySeconds } }, translate)
  expect(of('FIX_RATE', '30')).toBe('every 30 s')
  expect(of('FIX_RATE', '1')).toBe('every second')
  expect(of('FIX_RATE', '90')).toBe('every 90 s')
  expect(of('FIX_RATE', '300')).toBe('every 5 min')
  expect(of('FIX_RATE', '3600')).toBe('every hour')
  expect(of('FIX_RATE', '172800')).toBe('every 2 d')
  expect(of('FIX_RATE', '0')).toBe('')
  expect(of('FIX_RATE', '1.5')).toBe('')
  expect(of('FIX_RATE', '10', 10)).toBe('10 s after the previous run ends')
  expect(of('FIX_RATE', '20', 10)).toBe('every 20 s')
  expect(of('CRON', '0 0 3 * * ?', 10)).toBe('03:00 daily')
  expect(of('NONE', null)).toBe('manual only')
  expect(of('WEEKLY', 'x')).toBe('')
})

test('a zone of its own stands behind what the clock says', () => {
  expect(cron('0 30 2 * * ?', 'UTC')).toBe('02:30 daily (UTC)')
  expect(cron('0 0/5 * * * ?', 'UTC')).toBe('every 5 min')
  expect(cron('0 0/5 * ? * MON', 'UTC')).toBe('every 5 min, Mon (UTC)')
})

test('in Chinese', () => {
  speak('zh-CN')
  expect(cron('0 30 2 * * ?')).toBe('每天 02:30')
  expect(cron('0 0/5 * * * ?')).toBe('每 5 分钟')
  expect(cron('0 0 9 ? * MON-FRI')).toBe('每周一至周五 09:00')
  expect(cron('0 0/20 9-17 ? * MON-FRI')).toBe('每周一至周五，09:00 至 17:40 每 20 分钟')
  expect(cron('0 0 3 L * ?')).toBe('每月最后一天 03:00')
  expect(cron('0 0 3 1 1 ?')).toBe('每年 1 月 1 日 03:00')
  expect(cron('0 5 * * * ?', 'UTC')).toBe('每小时的 05 分（UTC）')
  speak('zh-TW')
  expect(cron('0 0 9 ? * SAT,SUN')).toBe('每週六、週日 09:00')
  expect(cron('0 0 3 ? * 2#1')).toBe('每月第一個週一 03:00')
})

/* The words against recorded fires of the original: each fire is as they say, and none that they promise is missing. */
interface Vector {
  expr: string
  tz: string
  from: number
  next?: number[]
}

/** Zones whose clocks do not change. */
const FIXED = ['Asia/Shanghai', 'UTC']

interface Local {
  time: string
  minute: number
  day: number
  month: number
  weekday: number // 0: Monday
}

const DAYS = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun']
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

function local(ms: number, zone: string): Local {
  const { date, clock } = showTime(ms, zone)
  const at = new Date(`${date}T${clock}Z`)
  return {
    time: clock.endsWith(':00') ? clock.slice(0, 5) : clock,
    minute: at.getUTCHours() * 60 + at.getUTCMinutes(),
    day: at.getUTCDate(),
    month: at.getUTCMonth(),
    weekday: (at.getUTCDay() + 6) % 7,
  }
}

function named(text: string, names: string[]): number[] {
  const [from, to] = text.split('–')
  if (to) return names.flatMap((_, i) => (i >= names.indexOf(from!) && i <= names.indexOf(to) ? [i] : []))
  return text.split(', ').map((name) => names.indexOf(name))
}

/** What the words say of a moment, read by itself; undefined: not read here. */
function claim(words: string): ((at: Local) => boolean) | undefined {
  const months = /^(.*), ([A-Z][a-z]{2}(?:[–,].*)?) only$/.exec(words)
  const rest = months ? months[1]! : words
  const inMonth = (at: Local) => !months || named(months[2]!, MONTHS).includes(at.month)
  let m = /^([\d:, ]+) daily$/.exec(rest)
  if (m) return (at) => inMonth(at) && m![1]!.split(', ').includes(at.time)
  m = /^((?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[–, ]*)+) ([\d:, ]+)$/.exec(rest)
  if (m) return (at) => inMonth(at) && named(m![1]!, DAYS).includes(at.weekday) && m![2]!.split(', ').includes(at.time)
  m = /^([\d:, ]+) on days? ([\d, ]+) of the month$/.exec(rest)
  if (m) return (at) => inMonth(at) && m![2]!.split(', ').includes(String(at.day)) && m![1]!.split(', ').includes(at.time)
  m = /^([\d:, ]+) on (\d+) ([A-Z][a-z]{2})$/.exec(rest)
  if (m) return (at) => at.day === +m![2]! && MONTHS[at.month] === m![3] && m![1]!.split(', ').includes(at.time)
  m = /^every (\d+ min|minute|hour) from (\d\d):(\d\d) to (\d\d):(\d\d)(?:, (.*))?$/.exec(rest)
  if (!m) return undefined
  const step = m[1] === 'minute' ? 1 : m[1] === 'hour' ? 60 : parseInt(m[1]!)
  const from = +m[2]! * 60 + +m[3]!
  const to = +m[4]! * 60 + +m[5]!
  const days = m[6]
  return (at) =>
    inMonth(at) &&
    (!days || named(days, DAYS).includes(at.weekday)) &&
    at.time.length === 5 &&
    at.minute >= from &&
    at.minute <= to &&
    (at.minute - from) % step === 0
}

function checkEven(vector: Vector, words: string): boolean {
  const m = /^every (\d+ )?(s|min|h|second|minute|hour)( at [\d:]+)?$/.exec(words)
  if (!m) return false
  const unit = { s: 1, second: 1, min: 60, minute: 60, h: 3600, hour: 3600 }[m[2]!]!
  const step = (m[1] ? parseInt(m[1]) : 1) * unit * 1000
  const next = vector.next!
  const offsets = new Set(next.map((ms) => local(ms, vector.tz).minute - Math.floor(ms / 60_000) % 1440))
  if ([...offsets].some((o) => (o - [...offsets][0]!) % 1440 !== 0)) return true // the clocks change
  for (let i = 1; i < next.length; i++) expect(next[i]! - next[i - 1]!, vector.expr).toBe(step)
  return true
}

function checkClaim(vector: Vector, says: (at: Local) => boolean): void {
  const next = vector.next!
  for (const ms of next) expect(says(local(ms, vector.tz)), `${vector.expr} ${new Date(ms).toISOString()}`).toBe(true)
  const second = next[0]! % 60_000
  let at = vector.from - (vector.from % 60_000) + second
  if (at <= vector.from) at += 60_000
  const end = Math.min(next[next.length - 1]!, at + 1.2 * 86_400_000)
  for (; at < end; at += 60_000)
    if (!next.includes(at)) expect(says(local(at, vector.tz)), `${vector.expr} misses ${new Date(at).toISOString()}`).toBe(false)
}

test('the words are true of the recorded fires of the original', () => {
  const lines = readFileSync(new URL('../../../tests/vectors/cron.jsonl', import.meta.url), 'utf8').split('\n')
  const vectors = lines.filter((l) => l).map((l) => JSON.parse(l) as Vector)
  let worded = 0
  let checked = 0
  for (const vector of vectors) {
    const words = cron(vector.expr)
    if (!words) continue
    worded++
    if (!FIXED.includes(vector.tz) && !vector.next?.length) continue // always in the gap of a change of the clocks
    expect(vector.next?.length, `${vector.expr} never fires`).toBeGreaterThan(0)
    if (checkEven(vector, words)) checked++
    else {
      const says = FIXED.includes(vector.tz) ? claim(words) : undefined
      if (!says) continue
      checkClaim(vector, says)
      checked++
    }
  }
  expect(worded).toBeGreaterThan(100)
  expect(checked).toBeGreaterThan(60)
})
