// SPDX-License-Identifier: MIT
/** edit: changes of a flow that need more than one place: new steps, other names, edges. Each gives a new flow. Pure. */
import { edgesOf, NAME, stepsOf, type Edge, type FlowDocument, type Step, type StepType } from './document'
import { renamePaths } from './paths'

/** Members of `patch` that are undefined are taken away. */
export function withMembers<T extends object>(thing: T, patch: Partial<T>): T {
  const next = { ...thing, ...patch } as Record<string, unknown>
  for (const key of Object.keys(patch)) if (next[key] === undefined) delete next[key]
  return next as T
}

/** `at` is a place of ours, no member of the document. */
function replaceAt<T>(list: readonly T[] | undefined, at: number, one: T | undefined): T[] {
  const copy = [...(list ?? [])]
  if (one === undefined) copy.splice(at, 1)
  else copy[at] = one
  return copy
}

function putEdges(flow: FlowDocument, edges: Edge[]): FlowDocument {
  return withMembers(flow, { edges: edges.length ? edges : undefined })
}

export function setStep(flow: FlowDocument, name: string, patch: Partial<Step>): FlowDocument {
  const step = stepsOf(flow).find((s) => s.name === name)
  if (!step) return flow
  return { ...flow, steps: replaceAt(flow.steps, step.at, withMembers(flow.steps[step.at]!, patch)) }
}

/** Another kind of step: what only the old one had goes. */
export function setType(flow: FlowDocument, name: string, type: StepType): FlowDocument {
  const step = stepsOf(flow).find((s) => s.name === name)
  if (!step || step.type === type) return flow
  const isOfJob = (t: StepType) => t === 'job' || t === 'map' || t === 'broadcast'
  const { name: own, description, join, jobId, param } = step
  const kept = isOfJob(step.type) && isOfJob(type) ? { jobId, param } : {}
  const made = withMembers({ name: own, type } as Step, { description, join, ...newMembers(type), ...kept })
  return { ...flow, steps: replaceAt(flow.steps, step.at, withMembers(made, {})) }
}

function newMembers(type: StepType): Partial<Step> {
  if (type === 'map') return { items: '' }
  if (type === 'wait') return { seconds: 60 }
  if (type === 'approval') return { text: '' }
  if (type === 'flow') return { flow: '' }
  return {}
}

export function freeName(flow: FlowDocument, wanted: string): string {
  const taken = new Set(stepsOf(flow).map((s) => s.name))
  if (!taken.has(wanted)) return wanted
  for (let n = 2; ; n++) if (!taken.has(`${wanted}-${n}`)) return `${wanted}-${n}`
}

/** A new step; behind `after`, where that is given. */
export function addStep(flow: FlowDocument, type: StepType, after?: string): { flow: FlowDocument; name: string } {
  const name = freeName(flow, type === 'job' ? 'step' : type)
  const step: Step = { name, type, ...newMembers(type) }
  const before = after === undefined ? undefined : stepsOf(flow).find((s) => s.name === after)
  const steps = [...(flow.steps ?? [])]
  steps.splice(before ? before.at + 1 : steps.length, 0, step)
  const next = { ...flow, steps }
  return { flow: before ? connect(next, before.name, name) : next, name }
}

/** Its edges go with it; what came before it leads to what came behind it no more. */
export function removeStep(flow: FlowDocument, name: string): FlowDocument {
  const step = stepsOf(flow).find((s) => s.name === name)
  if (!step) return flow
  const edges = (flow.edges ?? []).filter((e) => e?.from !== name && e?.to !== name)
  return putEdges({ ...flow, steps: replaceAt(flow.steps, step.at, undefined) }, edges)
}

/** The edges, conditions and templates that name it follow. */
export function renameStep(flow: FlowDocument, from: string, to: string): FlowDocument {
  const steps = stepsOf(flow)
  if (from === to || !NAME.test(to) || steps.some((s) => s.name === to)) return flow
  const renamed = renamePaths(flow, from, to)
  const at = steps.find((s) => s.name === from)?.at
  if (at === undefined) return flow
  const end = (name: string) => (name === from ? to : name)
  const edges = (renamed.edges ?? []).map((e) => (e ? { ...e, from: end(e.from), to: end(e.to) } : e))
  return putEdges({ ...renamed, steps: replaceAt(renamed.steps, at, { ...renamed.steps[at]!, name: to }) }, edges)
}

/** Whether one can come from `start` to `goal` along the edges. */
export function leadsTo(flow: FlowDocument, start: string, goal: string): boolean {
  const edges = edgesOf(flow)
  const seen = new Set([start])
  for (const name of seen) {
    if (name === goal) return true
    for (const e of edges) if (e.from === name) seen.add(e.to)
  }
  return false
}

export function mayConnect(flow: FlowDocument, from: string, to: string): 'yes' | 'same' | 'circle' {
  if (edgesOf(flow).some((e) => e.from === from && e.to === to)) return 'same'
  return leadsTo(flow, to, from) ? 'circle' : 'yes'
}

export function connect(flow: FlowDocument, from: string, to: string): FlowDocument {
  if (mayConnect(flow, from, to) !== 'yes') return flow
  return { ...flow, edges: [...(flow.edges ?? []), { from, to }] }
}

export function setEdge(flow: FlowDocument, at: number, patch: Partial<Edge> | undefined): FlowDocument {
  const edge = flow.edges?.[at]
  if (!edge) return flow
  return putEdges(flow, replaceAt(flow.edges, at, patch && withMembers(edge, patch)))
}
