// SPDX-License-Identifier: MIT
/** reason: what a step that waits waits for, by the rules of docs/flows.md; the server says the same in English. Pure. */
import { conditionsOf, edgesOf, stepsOf, type FlowDocument, type On } from './document'
import { readPath } from './paths'

export interface Reason {
  /** One of them is enough. */
  any: boolean
  for: { name: string; on: On; conditions: boolean }[]
}

const isOpen = (state: string | undefined) => state === 'waiting' || state === 'running' || state === undefined
const ENDS: Record<On, readonly string[]> = { success: ['succeeded'], failure: ['failed'], end: ['succeeded', 'failed'] }

/** The edges into the step that are neither true nor false yet. */
export function reasonOf(flow: FlowDocument, name: string, states: ReadonlyMap<string, string>): Reason {
  const found: Reason = { any: stepsOf(flow).find((s) => s.name === name)?.join === 'any', for: [] }
  for (const edge of edgesOf(flow)) {
    if (edge.to !== name) continue
    const on = edge.on ?? 'success'
    const conditions = conditionsOf(edge)
    const state = states.get(edge.from)
    const named = conditions.map((c) => readPath(c.path)).filter((p) => p.kind === 'step')
    const isUndecided = isOpen(state) || (ENDS[on].includes(state!) && named.some((p) => isOpen(states.get(p.name!))))
    if (isUndecided) found.for.push({ name: edge.from, on, conditions: conditions.length > 0 })
  }
  return found
}
