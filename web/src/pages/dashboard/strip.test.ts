// SPDX-License-Identifier: MIT
import { describe, expect, test } from 'vitest'
import { changeOf, columnsOf, hourOf, labelsOf, rangeOf, SPAN_NAMES, SPANS, type Point } from './strip'

const NOW = Date.parse('2026-11-22T16:03:20Z')

function point(from: string, values: Partial<Point> = {}): Point {
  return {
    from,
    fires: 0,
    undelivered: 0,
    succeeded: 0,
    failed: 0,
    p50LatenessMilliseconds: null,
    p99LatenessMilliseconds: null,
    meanLatenessMilliseconds: null,
    ...values,
  }
}

describe('ranges', () => {
  test('end with the step that is not over', () => {
    expect(rangeOf('6h', NOW)).toEqual({ from: '2026-11-22T10:04:00.000Z', to: '2026-11-22T16:04:00.000Z' })
    expect(rangeOf('24h', NOW).to).toBe('2026-11-22T16:05:00.000Z')
    expect(rangeOf('8d', NOW)).toEqual({ from: '2026-11-14T17:00:00.000Z', to: '2026-11-22T17:00:00.000Z' })
  })
  test('have as many columns as a screen has room for', () => {
    for (const name of SPAN_NAMES) expect(SPANS[name].lengthMs / SPANS[name].stepMs).toBeLessThanOrEqual(360)
  })
  test('hours are whole minutes and follow each other', () => {
    expect(hourOf(NOW, 0)).toEqual({ from: '2026-11-22T15:03:00.000Z', to: '2026-11-22T16:03:00.000Z' })
    expect(hourOf(NOW, 1).to).toBe(hourOf(NOW, 0).from)
  })
})

describe('columns', () => {
  test('are darker for more fires, and never white for one', () => {
    const shades = columnsOf(
      [0, 1, 10, 400, 10_000].map((fires) => point('2026-11-22T16:00:00Z', { fires })),
      60_000,
    ).map((c) => c.shade)
    expect(shades).toEqual([0, 1, 1, 1, 5])
    expect(columnsOf([point('2026-11-22T16:00:00Z', { fires: 2 })], 60_000)[0]!.shade).toBe(5)
  })
  test('have a cap for what went wrong, as high as its part and never too low to be seen', () => {
    const caps = columnsOf(
      [
        point('2026-11-22T16:00:00Z', { fires: 1000 }),
        point('2026-11-22T16:01:00Z', { fires: 1000, failed: 1 }),
        point('2026-11-22T16:02:00Z', { fires: 10, failed: 3, undelivered: 2 }),
        point('2026-11-22T16:03:00Z', { fires: 0, failed: 2 }),
      ],
      60_000,
    )
    expect(caps.map((c) => c.cap)).toEqual([0, 0.2, 0.5, 1])
    expect(caps[2]!.wrong).toBe(5)
  })
  test('are late by the slowest hundredth', () => {
    const [a, b] = columnsOf(
      [
        point('2026-11-22T16:00:00Z', { fires: 1, p99LatenessMilliseconds: 999 }),
        point('2026-11-22T16:00:00Z', { fires: 1, p99LatenessMilliseconds: 1000 }),
      ],
      60_000,
    )
    expect([a!.late, b!.late]).toEqual([false, true])
  })
})

test('labels stand at full hours and midnights of the zone', () => {
  const at = (name: '6h' | '24h' | '8d', zone: string) => {
    const { from } = rangeOf(name, NOW)
    const { stepMs, lengthMs } = SPANS[name]
    const points = Array.from({ length: lengthMs / stepMs }, (_, i) => point(new Date(Date.parse(from) + i * stepMs).toISOString()))
    return labelsOf(columnsOf(points, stepMs), name, zone).map((l) => l.text)
  }
  expect(at('6h', 'UTC')).toEqual(['11:00', '12:00', '13:00', '14:00', '15:00', '16:00'])
  expect(at('24h', 'Asia/Shanghai')[0]).toBe('03:00')
  expect(at('8d', 'Asia/Shanghai')).toEqual(['11-16', '11-17', '11-18', '11-19', '11-20', '11-21', '11-22', '11-23'])
})

test('a change is told in per cent where there was something before', () => {
  expect(changeOf(110, 100)).toBe(10)
  expect(changeOf(0, 100)).toBe(-100)
  expect(changeOf(5, 0)).toBeNull()
  expect(changeOf(null, 3)).toBeNull()
})
