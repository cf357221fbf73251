// SPDX-License-Identifier: MIT
/** ticks: the eight states that a due time can be in, the same everywhere. Pure. */
import type { RouteLocationRaw } from 'vue-router'
import type { Schemas } from '@/api/client'

export const TICK_STATES = [
  'planned',
  'running',
  'success',
  'failed',
  'retried',
  'late',
  'skipped',
  'unknown',
] as const
export type TickState = (typeof TICK_STATES)[number]

/** Which colour token a state has: st-ok and so on. */
export const TICK_COLOUR: Record<TickState, 'plan' | 'run' | 'ok' | 'fail' | 'skip' | 'unk'> = {
  planned: 'plan',
  running: 'run',
  success: 'ok',
  failed: 'fail',
  retried: 'fail',
  late: 'ok',
  skipped: 'skip',
  unknown: 'unk',
}

export interface TickData {
  state: TickState
  /** A sentence, for hover and screen readers. */
  label: string
  /** Id of its run, where it has one. */
  run?: number
  lateMs?: number
  /** Where it leads, if it is no run of a job. */
  to?: RouteLocationRaw
  /** The question that it leads to instead: why did this job not do well at that time? */
  why?: { job: number; at: string; run: number }
}

/** What somebody may ask about: it is neither green nor under way. */
export function isOdd(state: TickState): boolean {
  return !['planned', 'running', 'success'].includes(state)
}

/** A row that went out this late counts as late, in milliseconds. */
export const LATE_MS = 1000

/** The tick of a row of the log. */
export function tickOfRun(state: Schemas['Run']['state'], retried = false, lateMs = 0): TickState {
  switch (state) {
    case 'planned':
      return 'planned'
    case 'sending':
    case 'waiting':
    case 'running':
      return 'running'
    case 'success':
      return lateMs >= LATE_MS ? 'late' : 'success'
    case 'failed':
      return retried ? 'retried' : 'failed'
    case 'skipped':
      return 'skipped'
    case 'lost':
    case 'unknown':
      return 'unknown'
  }
}
