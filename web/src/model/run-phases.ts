// SPDX-License-Identifier: MIT
/**
 * run-phases: from the due time of a run to its end, in parts: late, then running. By the second, as the rows of the
 * log have it: no table has more. Pure.
 */
import type { Schemas } from '@/api/client'
import { isOver } from './run-words'

type Timed = Pick<
  Schemas['Run'],
  'state' | 'dueTime' | 'triggerTime' | 'handleTime' | 'lateSeconds' | 'durationSeconds' | 'outcome'
>

export interface Phase {
  name: 'late' | 'ran'
  from: number
  to: number
  /** Percent of the bar; what is short is seen still. */
  width: number
}

const LEAST = 3

/** Empty: it was not sent, or is not yet. */
export function phasesOf(run: Timed, now: number): Phase[] {
  const sent = Date.parse(run.triggerTime ?? '')
  const wasSent = run.durationSeconds !== null || run.state === 'running'
  if (Number.isNaN(sent) || !wasSent) return []
  const end = isOver(run) ? sent + (run.durationSeconds ?? 0) * 1000 : Math.max(sent, now)
  const due = sent - run.lateSeconds * 1000
  const all = Math.max(1, end - due)
  const late = run.lateSeconds > 0 ? Math.min(100 - LEAST, Math.max(LEAST, ((sent - due) / all) * 100)) : 0
  const ran: Phase = { name: 'ran', from: sent, to: end, width: 100 - late }
  return late ? [{ name: 'late', from: due, to: sent, width: late }, ran] : [ran]
}
