// SPDX-License-Identifier: MIT
import { expect, test } from 'vitest'
import { isZone, parseInZone, showInstant, showInZones, showOffset, splitDuration } from './time'

test('an instant stands in the zone that is asked for', () => {
  expect(showInstant('2026-11-22T16:00:00.000Z', 'Asia/Shanghai')).toBe('2026-11-23 00:00:00')
  expect(showInstant('2026-11-22T16:00:00.000Z', 'UTC')).toBe('2026-11-22 16:00:00')
  expect(showOffset('2026-11-22T16:00:00.000Z', 'Asia/Shanghai')).toBe('+08:00')
  expect(showOffset('2026-11-22T16:00:00.000Z', 'UTC')).toBe('+00:00')
})

test('a wall-clock time is read in its zone, also around a change of the clocks', () => {
  for (const zone of ['Asia/Shanghai', 'UTC', 'Europe/Berlin', 'America/New_York']) {
    for (const text of ['2026-11-22 02:30:00', '2026-07-01 23:59:59', '2026-03-28 12:00:00']) {
      expect(showInstant(parseInZone(text, zone), zone)).toBe(text)
    }
  }
  expect(showInstant(parseInZone('2026-03-29 02:30', 'Europe/Berlin'), 'Europe/Berlin')).toBe('2026-03-29 03:30:00')
  expect(showInstant(parseInZone('2026-03-08 02:30', 'America/New_York'), 'America/New_York')).toBe(
    '2026-03-08 03:30:00',
  )
  expect(parseInZone('yesterday', 'UTC')).toBeNaN()
})

test('a length of time has the two units that matter', () => {
  expect(splitDuration(812)).toEqual({ unit: 'ms', value: 812, rest: 0 })
  expect(splitDuration(1234)).toEqual({ unit: 's', value: 1.2, rest: 0 })
  expect(splitDuration(130_000)).toEqual({ unit: 'min', value: 2, rest: 10 })
  expect(splitDuration(2 * 86_400_000 + 3 * 3_600_000)).toEqual({ unit: 'd', value: 2, rest: 3 })
})

test('a zone is known or not', () => {
  expect(isZone('Asia/Shanghai')).toBe(true)
  expect(isZone('Mars/Olympus')).toBe(false)
})

test('a zone that the browser does not know takes nothing with it', () => {
  expect(showInZones('2026-11-22T16:00:00.000Z', ['UTC', 'Mars/Olympus', '', 'Asia/Shanghai', 'UTC'])).toBe(
    '2026-11-22 16:00:00 +00:00 UTC\n2026-11-23 00:00:00 +08:00 Asia/Shanghai',
  )
})
