// SPDX-License-Identifier: MIT
import { expect, test } from 'vitest'
import { chartOption, tipText } from './chart'
import type { Point } from './strip'

const words = { fires: 'fires', wrong: 'failed', p50: 'p50', p99: 'p99' }
const point = (from: string, fires: number, failed: number): Point => ({
  from,
  fires,
  undelivered: 1,
  succeeded: 0,
  failed,
  p50LatenessMilliseconds: 2,
  p99LatenessMilliseconds: null,
  meanLatenessMilliseconds: null,
})
const points = [point('2026-11-22T16:00:00Z', 5, 1), point('2026-11-22T16:05:00Z', 7, 0)]

test('the tooltip makes no element, and tells times in the zone', () => {
  const option = chartOption(points, 'Asia/Shanghai', words, () => '#000')
  expect(option.tooltip.renderMode).toBe('richText')
  const items = option.series.map((s) => ({ axisValue: s.data[0]![0], seriesName: s.name, value: s.data[0] }))
  expect(tipText(items, 'Asia/Shanghai')).toBe('2026-11-23 00:00\nfires: 5\nfailed: 2\np50: 2\np99: –')
  expect(tipText([], 'UTC')).toBe('')
})

test('labels are clock times, or dates where it is days', () => {
  const label = (all: Point[]) => chartOption(all, 'UTC', words, () => '#000').xAxis[1]!.axisLabel.formatter(Date.parse(all[0]!.from))
  expect(label(points)).toBe('16:00')
  expect(label([points[0]!, point('2026-11-29T16:00:00Z', 0, 0)])).toBe('11-22')
})
