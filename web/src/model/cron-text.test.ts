// SPDX-License-Identifier: MIT
import { expect, test } from 'vitest'
import { readCron, readCronField, withChoice, writeCron, writeCronField, type CronField } from './cron-text'

const SAME: [CronField, string][] = [
  ['second', '*'],
  ['second', '0'],
  ['second', '5,10,55'],
  ['minute', '0/5'],
  ['minute', '*/15'],
  ['minute', '10-50/10'],
  ['hour', '9-17'],
  ['day', '?'],
  ['day', 'L'],
  ['day', 'LW'],
  ['day', 'L-3'],
  ['day', '15W'],
  ['day', '1,15'],
  ['month', '1/3'],
  ['month', '1-6'],
  ['weekday', 'MON-FRI'],
  ['weekday', 'SUN,SAT'],
  ['weekday', '6L'],
  ['weekday', '6#3'],
  ['weekday', '2/2'],
  ['year', '2026-2030'],
]

test('what the builder knows comes back as it was', () => {
  for (const [field, text] of SAME) {
    const choice = readCronField(field, text)
    expect(choice.kind, `${field} ${text}`).not.toBe('other')
    expect(writeCronField(field, choice)).toBe(text)
  }
})

test('what the dialect reads in ways of its own stays as it was typed', () => {
  const odd: [CronField, string][] = [
    ['second', '60'],
    ['minute', '99'], // another way to write *
    ['minute', '0/60'],
    ['minute', '5X'],
    ['hour', '22-2'], // over the top
    ['hour', '1,,2'],
    ['day', '0'],
    ['day', 'L-31'],
    ['day', '1,L'],
    ['day', '5,?'],
    ['month', 'JAN-3'],
    ['weekday', 'MON/2'], // is MON
    ['weekday', 'MON-FRI/2'], // is MON-FRI
    ['weekday', 'MONDAY'],
    ['weekday', 'L'],
    ['weekday', '0#1'],
    ['weekday', '6#3,2'],
    ['weekday', 'FRI-MON'],
    ['hour', '/2'],
  ]
  for (const [field, text] of odd) expect(readCronField(field, text), text).toEqual({ kind: 'other', text })
})

test('names and case mean the same', () => {
  expect(readCronField('weekday', 'mon-Fri')).toEqual({ kind: 'range', from: 2, to: 6 })
  expect(readCronField('weekday', 'friL')).toEqual({ kind: 'lastOf', day: 6 })
  expect(readCronField('month', 'JAN,APR')).toEqual({ kind: 'list', values: [1, 4] })
  expect(readCronField('hour', '8-10,14')).toEqual({ kind: 'list', values: [8, 9, 10, 14] })
})

test('an expression has six fields or seven', () => {
  expect(readCron('* * * * *')).toBeUndefined()
  expect(readCron('* * * * ? * * *')).toBeUndefined()
  expect(readCron('')).toBeUndefined()
  expect(writeCron(readCron('  0  0/5 *\t* * ?  ')!)).toBe('0 0/5 * * * ?')
  expect(writeCron(readCron('0 0 3 ? * MON-FRI *')!)).toBe('0 0 3 ? * MON-FRI')
  expect(writeCron(readCron('0 0 3 ? * 6L 2027')!)).toBe('0 0 3 ? * 6L 2027')
})

test('exactly one of the two fields of days is ?', () => {
  const daily = readCron('0 30 2 * * ?')!
  const weekly = withChoice(daily, 'weekday', { kind: 'list', values: [2] })
  expect(writeCron(weekly)).toBe('0 30 2 ? * MON')
  expect(writeCron(withChoice(weekly, 'day', { kind: 'last' }))).toBe('0 30 2 L * ?')
  expect(writeCron(withChoice(weekly, 'weekday', { kind: 'none' }))).toBe('0 30 2 * * ?')
  expect(writeCron(withChoice(daily, 'hour', { kind: 'every' }))).toBe('0 30 * * * ?')
})
