// SPDX-License-Identifier: MIT
/** length: how long a run took, and its bar beside the longest one of a page. Pure. */
import type { Schemas } from '@/api/client'
import { isOver } from '@/model/run-words'

export type Run = Schemas['Run']

/** Milliseconds that it took, or takes so far; undefined where nobody knows. */
export function lengthOf(run: Pick<Run, 'state' | 'triggerTime' | 'durationSeconds'>, now: number): number | undefined {
  if (run.durationSeconds !== null) return run.durationSeconds * 1000
  if (!run.triggerTime || isOver(run) || run.state === 'planned') return undefined
  return Math.max(0, now - Date.parse(run.triggerTime))
}

/** Width of a bar in percent of the longest on the page: seen, however short. */
export function barOf(ms: number | undefined, longest: number): number {
  if (ms === undefined || longest <= 0) return 0
  return Math.max(2, Math.min(100, Math.round((ms / longest) * 100)))
}
