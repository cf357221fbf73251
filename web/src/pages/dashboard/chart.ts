// SPDX-License-Identifier: MIT
/** chart: what ECharts is told: fires and failures above, lateness below, one time axis. Pure but for the colours. */
import { wrongOf, type Point } from './strip'
import { showInstant, showTime } from '@/model/time'

export interface ChartWords {
  fires: string
  wrong: string
  p50: string
  p99: string
}

type Pair = [number, number | null]

function pairs(points: readonly Point[], value: (p: Point) => number | null): Pair[] {
  return points.map((p) => [Date.parse(p.from), value(p)])
}

interface Line {
  grid: 0 | 1
  name: string
  data: Pair[]
  colour: string
  dash?: 'dotted' | 'dashed'
}

export function linesOf(points: readonly Point[], words: ChartWords, colour: (token: string) => string): Line[] {
  return [
    { grid: 0, name: words.fires, data: pairs(points, (p) => p.fires), colour: colour('--n-6') },
    { grid: 0, name: words.wrong, data: pairs(points, wrongOf), colour: colour('--st-fail') },
    { grid: 1, name: words.p50, data: pairs(points, (p) => p.p50LatenessMilliseconds), colour: colour('--n-6'), dash: 'dotted' },
    { grid: 1, name: words.p99, data: pairs(points, (p) => p.p99LatenessMilliseconds), colour: colour('--st-skip'), dash: 'dashed' },
  ]
}

interface TipItem {
  axisValue?: string | number
  seriesName?: string
  value?: unknown
}

/** What the pointer is at: its time in the zone, and each line's value. */
export function tipText(items: readonly TipItem[], zone: string): string {
  const first = items[0]
  if (!first) return ''
  const lines = items.map((item) => {
    const value = (item.value as Pair)[1]
    return `${item.seriesName}: ${value === null ? '–' : Math.round(value * 10) / 10}`
  })
  return [showInstant(Number(first.axisValue), zone).slice(0, 16), ...lines].join('\n')
}

const DAY = 86_400_000

/** Clock times, or dates where it is days. */
function labelFormat(points: readonly Point[], zone: string): (at: number) => string {
  const first = points[0]
  const last = points.at(-1)
  const days = first && last && Date.parse(last.from) - Date.parse(first.from) > 2 * DAY
  return (at) => (days ? showTime(at, zone).date.slice(5) : showTime(at, zone).clock.slice(0, 5))
}

/** No element of the tooltip is made: it is drawn, for the page lets no style into markup. */
export function chartOption(points: readonly Point[], zone: string, words: ChartWords, colour: (token: string) => string) {
  const label = labelFormat(points, zone)
  const text = { color: colour('--n-6'), fontSize: 12 }
  const axisLine = { lineStyle: { color: colour('--n-4') } }
  const xAxis = (grid: number) => ({
    type: 'time' as const,
    gridIndex: grid,
    axisLine,
    axisTick: { show: grid === 1 },
    axisLabel: { ...text, show: grid === 1, hideOverlap: true, formatter: label },
    splitLine: { show: false },
  })
  const yAxis = (grid: number, unit: string) => ({
    type: 'value' as const,
    gridIndex: grid,
    splitNumber: 2,
    minInterval: grid === 0 ? 1 : undefined,
    axisLabel: { ...text, formatter: `{value}${unit}` },
    splitLine: { lineStyle: { color: colour('--n-2') } },
  })
  return {
    animation: false,
    grid: [
      { top: 8, height: 88, left: 56, right: 12 },
      { top: 112, height: 62, left: 56, right: 12 },
    ],
    xAxis: [xAxis(0), xAxis(1)],
    yAxis: [yAxis(0, ''), yAxis(1, ' ms')],
    axisPointer: { link: [{ xAxisIndex: 'all' as const }] },
    tooltip: {
      trigger: 'axis' as const,
      renderMode: 'richText' as const,
      formatter: (items: unknown) => tipText(items as TipItem[], zone),
      backgroundColor: colour('--n-0'),
      borderColor: colour('--n-4'),
      textStyle: { color: colour('--n-8'), fontSize: 12 },
      axisPointer: { label: { show: false }, lineStyle: { color: colour('--n-5') } },
    },
    series: linesOf(points, words, colour).map((line) => ({
      type: 'line' as const,
      name: line.name,
      xAxisIndex: line.grid,
      yAxisIndex: line.grid,
      data: line.data,
      showSymbol: false,
      lineStyle: { color: line.colour, width: 1.6, type: line.dash ?? ('solid' as const) },
      itemStyle: { color: line.colour },
    })),
  }
}
