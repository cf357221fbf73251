// SPDX-License-Identifier: MIT
/** clearing: which runs go, as the server is asked for it; and the pieces in which they go. Pure but for its calls. */
import type { Schemas } from '@/api/client'

export const RULES = ['month1', 'month3', 'month6', 'month12', 'before', 'keep1000', 'keep10000', 'keep30000', 'keep100000', 'all'] as const
export type Rule = (typeof RULES)[number]

const TYPES: Partial<Record<Rule, number>> = { month1: 1, month3: 2, month6: 3, month12: 4, all: 9 }

export interface Scope {
  jobId?: number
  jobGroup?: number
}

export type ClearBody = Scope & { type?: number; keepNewest?: number; before?: string }

/** Undefined: something is missing still. */
export function makeClear(rule: Rule, before: string, scope: Scope): ClearBody | undefined {
  if (rule === 'before') return before ? { ...scope, before } : undefined
  const kept = /^keep(\d+)$/.exec(rule)
  if (kept) return { ...scope, keepNewest: Number(kept[1]) }
  return { ...scope, type: TYPES[rule] }
}

type Cleared = Schemas['RunsCleared']
export type ClearCall = (piece: { forSeconds: number; after?: string }) => Promise<Cleared>

const PIECE_SECONDS = 3

/**
 * Piece after piece until all is removed or `goesOn` says no. Tells how many went after each. A piece that did not
 * begin, for others were before it, is asked for again.
 */
export async function clearInPieces(call: ClearCall, goesOn: () => boolean, tell: (deleted: number) => void): Promise<boolean> {
  let after: string | undefined
  let deleted = 0
  for (;;) {
    const piece = await call({ forSeconds: PIECE_SECONDS, after })
    deleted += piece.deleted ?? 0
    tell(deleted)
    if (piece.done) return true
    after = piece.next ?? after
    if (!goesOn()) return false
  }
}
