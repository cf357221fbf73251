// SPDX-License-Identifier: MIT
/** graph: what the drawing of a flow is told: of a document, or of a run of it. Pure. */
import type { IconName } from '@/components/icons'
import { conditionsOf, edgesOf, stepsOf, type FlowDocument, type On, type StepType } from '@/model/flow/document'
import type { TickState } from '@/model/ticks'

export interface GraphStep {
  name: string
  type: StepType
  /** Below its name: the job, the time, the items. */
  note: string
  tick?: TickState
  /** The state in words. */
  words?: string
  closed?: boolean
  wrong?: boolean
  any?: boolean
}

export interface GraphEdge {
  /** Its place in the document. */
  at: number
  from: string
  to: string
  on: On
  label: string
  /** Of a run: whether it came true. */
  taken?: boolean
  wrong?: boolean
}

export const TYPE_ICONS: Record<StepType, IconName> = {
  job: 'bolt',
  map: 'many',
  broadcast: 'spread',
  wait: 'clock',
  approval: 'user',
  flow: 'flows',
}

export function iconOf(type: string): IconName {
  return TYPE_ICONS[type as StepType] ?? 'bolt'
}

export function graphSteps(flow: FlowDocument, more: (name: string, at: number) => Partial<GraphStep>): GraphStep[] {
  return stepsOf(flow).map((s) => ({
    name: s.name,
    type: s.type,
    note: '',
    closed: s.closed === true,
    any: s.join === 'any',
    ...more(s.name, s.at),
  }))
}

export function graphEdges(
  flow: FlowDocument,
  words: (on: On, conditions: number) => string,
  more: (edge: { from: string; to: string; on?: string; at: number }) => Partial<GraphEdge>,
): GraphEdge[] {
  return edgesOf(flow).map((e) => {
    const on = e.on ?? 'success'
    return { at: e.at, from: e.from, to: e.to, on, label: words(on, conditionsOf(e).length), ...more(e) }
  })
}
