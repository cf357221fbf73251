// SPDX-License-Identifier: MIT
/** run-words: which parts the sentence of a run has, and which tick it is. Pure. */
import type { Schemas } from '@/api/client'
import type { RunReason } from './reason-words'
import { tickOfRun, type TickState } from './ticks'

/** What runs of a list and the newest runs of a job have in common. */
export type RunLike = Pick<
  Schemas['Run'],
  'id' | 'state' | 'dueTime' | 'triggerTime' | 'lateSeconds' | 'durationSeconds' | 'skipped' | 'outcome' | 'retryRunId'
>

export interface RunParts {
  /** How long it took, or has taken so far. */
  seconds: number | null
  reason: string
  /** In place of the reason, where the server knows it. */
  code: RunReason | undefined
  value: string | undefined
  lateSeconds: number
  skipped: number
  isRetried: boolean
}

const REASON_CHARS = 200

/** Runs that did not end well, or nobody knows how: as lists of runs are narrowed to them. */
export const FAILURES = 'failed,lost,unknown'

/** The first line, and not more of it than a sentence bears. */
export function shortReason(reason: string | null): string {
  const line = (reason ?? '').trim().split(/\r?\n/, 1)[0]!.trim()
  return line.length > REASON_CHARS ? `${line.slice(0, REASON_CHARS - 1)}…` : line
}

/** The words of these outcomes say it already. */
const SAID: Partial<Record<RunLike['outcome']['code'], RunReason>> = {
  timeout: 'time-limit',
  blocked: 'block-discard-later',
  replaced: 'block-cover-early',
  unknown: 'delivery-unknown',
  lost: 'lost',
}

export function isOver(run: Pick<RunLike, 'state'>): boolean {
  return !['planned', 'sending', 'waiting', 'running'].includes(run.state)
}

export function partsOfRun(run: RunLike, now: number): RunParts {
  const runs = run.outcome.code === 'running' && run.triggerTime !== null
  const since = runs ? Math.max(0, Math.floor((now - Date.parse(run.triggerTime!)) / 1000)) : null
  const { code, reasonCode, reasonValue } = run.outcome
  const isSaid = reasonCode !== undefined && SAID[code] === reasonCode
  const saysReason = !isSaid && !['success', 'running', 'planned', 'sending'].includes(code)
  return {
    seconds: runs ? since : run.durationSeconds,
    reason: saysReason ? shortReason(run.outcome.reason) : '',
    code: saysReason ? reasonCode : undefined,
    value: reasonValue,
    lateSeconds: run.lateSeconds,
    skipped: run.state === 'skipped' ? run.skipped : 0,
    isRetried: run.retryRunId !== null,
  }
}

export function stateOfRun(run: RunLike): TickState {
  if (run.outcome.code === 'blocked') return 'skipped'
  return tickOfRun(run.state, run.retryRunId !== null, run.lateSeconds * 1000)
}
