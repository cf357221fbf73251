// SPDX-License-Identifier: MIT
/** paths: which values a flow's templates and conditions name. The server has the last word on them. Pure. */
import { conditionsOf, edgesOf, parametersOf, stepsOf, type Edge, type FlowDocument, type Json, type Step } from './document'

export interface FoundPath {
  text: string
  kind: 'flow' | 'step' | 'run' | 'item' | 'due' | 'unknown'
  /** Of a parameter or a step. */
  name?: string
}

const STEP = /^steps\.([A-Za-z0-9_-]+)\.(result(?:\/.*)?|state|code|address|startedAt|endedAt)$/s
const FLOW = /^flow\.([A-Za-z0-9_-]+)(?:\/.*)?$/s
const ITEM = /^(?:item(?:\/.*)?|index)$/s

export function readPath(text: string): FoundPath {
  const step = STEP.exec(text)
  if (step) return { text, kind: 'step', name: step[1] }
  const flow = FLOW.exec(text)
  if (flow) return { text, kind: 'flow', name: flow[1] }
  if (text === 'run.id') return { text, kind: 'run' }
  if (ITEM.test(text)) return { text, kind: 'item' }
  if (/^due(?:[-+:]|$)/.test(text)) return { text, kind: 'due' }
  return { text, kind: 'unknown' }
}

/** `$${` is no template. */
const TEMPLATE = /\$\$\{|\$\{([^}]*)\}/g

export function templatePaths(text: string): FoundPath[] {
  return [...text.matchAll(TEMPLATE)].filter((m) => m[1] !== undefined).map((m) => readPath(m[1]!))
}

/** A `${` without its end. */
export function isOpenTemplate(text: string): boolean {
  return text.replace(TEMPLATE, '').includes('${')
}

/** The steps before this one, along any edge. */
export function stepsBefore(flow: FlowDocument, name: string): Set<string> {
  const edges = edgesOf(flow)
  const before = new Set<string>()
  const open = [name]
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    for (const e of edges) {
      if (e.to !== at || before.has(e.from)) continue
      before.add(e.from)
      open.push(e.from)
    }
  }
  return before
}

/** What a template of the step may name, as far as it is known. */
export function pathsFor(flow: FlowDocument, name: string, withItem: boolean): string[] {
  const before = stepsBefore(flow, name)
  return [
    ...(withItem ? ['item', 'index'] : []),
    ...parametersOf(flow).map((p) => `flow.${p.name}`),
    ...stepsOf(flow)
      .filter((s) => before.has(s.name))
      .map((s) => `steps.${s.name}.result`),
    'run.id',
    'due:yyyy-MM-dd',
  ]
}

/* ---- another name ---- */

function renamePath(text: string, from: string, to: string): string {
  const start = `steps.${from}.`
  return text.startsWith(start) ? `steps.${to}.${text.slice(start.length)}` : text
}

function renameInTemplate(text: string, from: string, to: string): string {
  return text.replace(TEMPLATE, (whole, path: string | undefined) =>
    path === undefined ? whole : `\${${renamePath(path, from, to)}}`,
  )
}

function renameInJson(value: Json, from: string, to: string): Json {
  if (typeof value === 'string') return renameInTemplate(value, from, to)
  if (Array.isArray(value)) return value.map((v) => renameInJson(v, from, to))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, renameInJson(v, from, to)]))
}

function renameInStep(step: Step, from: string, to: string): Step {
  const next = { ...step }
  if (typeof step.param === 'string') next.param = renameInTemplate(step.param, from, to)
  if (typeof step.text === 'string') next.text = renameInTemplate(step.text, from, to)
  if (typeof step.items === 'string') next.items = renamePath(step.items, from, to)
  if (step.parameters) next.parameters = renameInJson(step.parameters, from, to) as Record<string, Json>
  return next
}

function renameInEdge(edge: Edge, from: string, to: string): Edge {
  if (!conditionsOf(edge).length) return edge
  const when = Object.fromEntries(
    Object.entries(edge.when!).map(([key, list]) => [
      key,
      Array.isArray(list) ? list.map((c) => (c && typeof c.path === 'string' ? { ...c, path: renamePath(c.path, from, to) } : c)) : list,
    ]),
  )
  return { ...edge, when }
}

/** All that names a step by its old name; not the step itself and the ends of edges. */
export function renamePaths(flow: FlowDocument, from: string, to: string): FlowDocument {
  const isThing = (v: unknown) => typeof v === 'object' && v !== null
  const next = { ...flow, steps: flow.steps.map((s) => (isThing(s) ? renameInStep(s, from, to) : s)) }
  if (Array.isArray(flow.edges)) next.edges = flow.edges.map((e) => (isThing(e) ? renameInEdge(e, from, to) : e))
  return next
}
