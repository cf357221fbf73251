// SPDX-License-Identifier: MIT
/** states: those of runs of flows and of their steps as ticks, and the bars of their times. Pure. */
import type { FlowRunState, FlowStep, StepState } from '@/api/flows'
import type { TickState } from '@/model/ticks'

const TICKS: Record<FlowRunState | StepState, TickState> = {
  queued: 'planned',
  waiting: 'planned',
  running: 'running',
  succeeded: 'success',
  failed: 'failed',
  skipped: 'skipped',
  cancelled: 'skipped',
}

/** A state that a newer server knows is `unknown`. */
export function tickOfState(state: string): TickState {
  return TICKS[state as StepState] ?? 'unknown'
}

export function isOpenRun(state: FlowRunState): boolean {
  return state === 'queued' || state === 'running'
}

export function lengthMs(run: { startedAt: string | null; endedAt: string | null }, now: number): number | undefined {
  if (!run.startedAt) return undefined
  return Math.max(0, (run.endedAt ? Date.parse(run.endedAt) : now) - Date.parse(run.startedAt))
}

/** A map, or a broadcast, that has begun. */
export function hasItems(step: FlowStep | undefined): step is FlowStep & { items: NonNullable<FlowStep['items']> } {
  return (step?.items?.total ?? 0) > 0
}

export interface Bar {
  name: string
  /** Of the whole, 0 to 1. */
  from: number
  length: number
  ms: number
}

/** When each step ran, on one scale: from the first start to the last end, or to now. */
export function barsOf(steps: readonly Pick<FlowStep, 'name' | 'startedAt' | 'endedAt'>[], now: number): Bar[] {
  const begun = steps.flatMap((s) => {
    if (!s.startedAt) return []
    const from = Date.parse(s.startedAt)
    return [{ name: s.name, from, to: Math.max(from, s.endedAt ? Date.parse(s.endedAt) : now) }]
  })
  if (!begun.length) return []
  const first = Math.min(...begun.map((b) => b.from))
  const span = Math.max(1, Math.max(...begun.map((b) => b.to)) - first)
  return begun
    .sort((a, b) => a.from - b.from)
    .map((b) => ({ name: b.name, from: (b.from - first) / span, length: (b.to - b.from) / span, ms: b.to - b.from }))
}

/** Which edges came true, to draw them: undefined where the reader cannot tell, as with conditions. */
export function isTaken(edge: { from: string; to: string; on?: string }, states: Map<string, string>): boolean | undefined {
  const from = states.get(edge.from)
  if (from !== 'succeeded' && from !== 'failed') return from === undefined || from === 'running' || from === 'waiting' ? undefined : false
  const on = edge.on ?? 'success'
  if (on !== 'end' && (on === 'success') !== (from === 'succeeded')) return false
  return states.get(edge.to) === 'waiting' ? undefined : states.get(edge.to) !== 'skipped'
}
