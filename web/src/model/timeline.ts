// SPDX-License-Identifier: MIT
/**
 * timeline: hours or days of a job as marks on a line: a tick for each due time, or where there is no room a bar of how
 * many ended how; lanes below it for what was done and what happened. Pure: instants are milliseconds, places pixels.
 */
import type { Schemas } from '@/api/client'
import { TICK_STATES, type TickState } from './ticks'
import { showTime } from './time'

type Explained = Schemas['ExplainedTime']
type Step = Schemas['TimelineStep']

export interface View {
  from: number
  to: number
}

const MINUTE = 60_000
const HOUR = 60 * MINUTE
export const SPAN_MIN = 2 * MINUTE
export const SPAN_MAX = 7 * 24 * HOUR
/** Spans one chooses from; the first is where a job's page begins. */
export const SPANS = { '6h': 6 * HOUR, '1h': HOUR, '24h': 24 * HOUR, '7d': 7 * 24 * HOUR } as const
export const SPAN_START = SPANS['6h']
/** So much of what is to come is shown behind now. */
const AHEAD = 0.06

/** The view that ends a little behind now. */
export function liveView(now: number, span: number): View {
  const to = Math.ceil((now + span * AHEAD) / 1000) * 1000
  return { from: to - span, to }
}

function keepInside(from: number, span: number, now: number): View {
  const last = liveView(now, span).to
  const to = Math.min(Math.round(from + span), last)
  return { from: Math.round(to - span), to }
}

/** Closer by a factor below 1, further by one above it; what is at `at` stays where it is. */
export function zoom(view: View, factor: number, at: number, now: number): View {
  const span = Math.min(SPAN_MAX, Math.max(SPAN_MIN, (view.to - view.from) * factor))
  const part = (at - view.from) / (view.to - view.from)
  return keepInside(at - part * span, span, now)
}

export function pan(view: View, part: number, now: number): View {
  const span = view.to - view.from
  return keepInside(view.from + part * span, span, now)
}

export function placeOf(view: View, at: number, width: number): number {
  return ((at - view.from) / (view.to - view.from)) * width
}

/* ---- marks ------------------------------------------------------------------------------------------------------- */

/** "missing" looks as unknown does: nobody can say what became of it. */
export function stateOfDue(state: Explained['state']): TickState {
  return state === 'missing' ? 'unknown' : state
}

const STATE_OF_RUN: Record<keyof Step['counts'], TickState> = {
  planned: 'planned',
  sending: 'running',
  waiting: 'running',
  running: 'running',
  success: 'success',
  failed: 'failed',
  lost: 'unknown',
  unknown: 'unknown',
  skipped: 'skipped',
}

export type Counts = Partial<Record<TickState, number>>

export interface DueMark {
  kind: 'due'
  x: number
  at: number
  state: TickState
  item: Explained
}
export interface BarMark {
  kind: 'bar'
  x: number
  width: number
  from: number
  to: number
  counts: Counts
  total: number
}
export type Mark = DueMark | BarMark

/** A tick with the room that it needs. */
export const TICK_PX = 13

function barOf(items: Explained[], view: View, from: number, to: number, width: number): BarMark {
  const counts: Counts = {}
  for (const item of items) {
    const state = stateOfDue(item.state)
    counts[state] = (counts[state] ?? 0) + 1
  }
  const x = placeOf(view, from, width)
  return { kind: 'bar', x, width: placeOf(view, to, width) - x, from, to, counts, total: items.length }
}

/** Those that stand too close to the one before them: together they have the room of one. */
function groupsOf(items: Explained[], view: View, width: number): Explained[][] {
  const groups: Explained[][] = []
  let start = -Infinity
  for (const item of items) {
    const x = placeOf(view, Date.parse(item.due), width)
    if (x - start < TICK_PX) groups[groups.length - 1]!.push(item)
    else {
      groups.push([item])
      start = x
    }
  }
  return groups
}

function markOf(group: Explained[], view: View, width: number): Mark {
  const item = group[0]!
  const at = Date.parse(item.due)
  const x = placeOf(view, at, width)
  if (group.length === 1) return { kind: 'due', x, at, state: stateOfDue(item.state), item }
  const to = Date.parse(group[group.length - 1]!.due) + 1000
  return { ...barOf(group, view, at, to, width), x: x - TICK_PX / 2, width: TICK_PX }
}

/** Lengths that bars may have: those that people count in. */
const BAR_SPANS = [1, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600].map((s) => s * 1000)

export function barSpan(view: View, width: number): number {
  const least = ((view.to - view.from) / width) * TICK_PX
  return BAR_SPANS.find((s) => s >= least) ?? BAR_SPANS[BAR_SPANS.length - 1]!
}

export function marksOfItems(items: Explained[], view: View, width: number): Mark[] {
  // What is to come of a job that stands still will not come.
  const inside = items.filter((i) => {
    const at = Date.parse(i.due)
    return at >= view.from && at < view.to && !(i.reason === 'stopped' && i.facts.ahead)
  })
  // A few that stand together, such as retries by hand, do not make bars of all.
  const groups = groupsOf(inside, view, width)
  if (groups.filter((g) => g.length > 1).length * 4 <= groups.length) return groups.map((g) => markOf(g, view, width))
  const span = barSpan(view, width)
  const bars: Mark[] = []
  let group: Explained[] = []
  let from = 0
  for (const item of inside) {
    const start = Math.floor(Date.parse(item.due) / span) * span
    if (group.length && start !== from) {
      bars.push(barOf(group, view, from, from + span, width))
      group = []
    }
    from = start
    group.push(item)
  }
  if (group.length) bars.push(barOf(group, view, from, from + span, width))
  return bars
}

export function marksOfSteps(steps: Step[], stepMs: number, view: View, width: number): Mark[] {
  const span = Math.max(stepMs, Math.ceil(barSpan(view, width) / stepMs) * stepMs)
  const bars = new Map<number, BarMark>()
  for (const step of steps) {
    const from = Math.floor(Date.parse(step.from) / span) * span
    let bar = bars.get(from)
    if (!bar) {
      const x = placeOf(view, from, width)
      bar = { kind: 'bar', x, width: placeOf(view, from + span, width) - x, from, to: from + span, counts: {}, total: 0 }
      bars.set(from, bar)
    }
    addStep(bar, step)
  }
  return [...bars.values()].sort((a, b) => a.from - b.from)
}

/** Late ones are successes, or have failed; they are shown as far as there are successes. */
function addStep(bar: BarMark, step: Step): void {
  for (const [state, n] of Object.entries(step.counts) as [keyof Step['counts'], number][]) {
    const tick = STATE_OF_RUN[state]
    const late = state === 'success' ? Math.min(step.late, n) : 0
    bar.counts[tick] = (bar.counts[tick] ?? 0) + n - late
    if (late) bar.counts.late = (bar.counts.late ?? 0) + late
    bar.total += n
  }
}

export interface BarPart {
  state: TickState
  y: number
  height: number
}

/** What went wrong stands on top, and is never too thin to be seen. */
const STACK: readonly TickState[] = ['planned', 'success', 'late', 'running', 'skipped', 'retried', 'unknown', 'failed']
const PART_MIN = 3

/** Bars of very few are low. */
export function mostOf(bars: BarMark[]): number {
  return Math.max(12, ...bars.map((b) => b.total))
}

export function partsOfBar(bar: BarMark, most: number, height: number): BarPart[] {
  const states = STACK.filter((s) => bar.counts[s])
  const full = Math.max(PART_MIN * states.length, (bar.total / Math.max(most, 1)) * height)
  const spare = Math.max(0, Math.min(full, height) - PART_MIN * states.length)
  let y = height
  return states.map((state) => {
    const part = PART_MIN + (spare * bar.counts[state]!) / bar.total
    y -= part
    return { state, y, height: part }
  })
}

export function worstOf(counts: Counts): TickState {
  for (const state of [...STACK].reverse()) if (counts[state] && state !== 'planned') return state
  return 'planned'
}

/** In the order of the glossary. */
export function countsInOrder(counts: Counts): [TickState, number][] {
  return TICK_STATES.filter((s) => counts[s]).map((s) => [s, counts[s]!])
}

/* ---- the axis ---------------------------------------------------------------------------------------------------- */

export interface AxisMark {
  x: number
  label: string
  isDay: boolean
}

const AXIS_STEPS = [1, 5, 15, 30, 60, 180, 360, 720, 1440].map((m) => m * MINUTE)
const AXIS_PX = 64
const LABEL_PX = 36

/** Round times of the clock in the zone; a new day says its date. Where the edge would cut it a mark has no label. */
export function axisOf(view: View, width: number, zone: string): AxisMark[] {
  const least = ((view.to - view.from) / width) * AXIS_PX
  const step = AXIS_STEPS.find((s) => s >= least) ?? AXIS_STEPS[AXIS_STEPS.length - 1]!
  const fine = Math.min(step, 15 * MINUTE)
  const marks: AxisMark[] = []
  for (let at = Math.ceil(view.from / fine) * fine; at < view.to; at += fine) {
    const { date, clock } = showTime(at, zone)
    const [h, m] = clock.split(':').map(Number)
    if (((h! * 60 + m!) * MINUTE) % step !== 0) continue
    const isDay = h === 0 && m === 0
    const x = placeOf(view, at, width)
    const text = isDay ? date.slice(5) : clock.slice(0, 5)
    marks.push({ x, label: x + LABEL_PX > width ? '' : text, isDay })
  }
  return marks
}
