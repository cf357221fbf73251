// SPDX-License-Identifier: MIT
/**
 * check: what is wrong with a flow, as far as it can be told without the server, so that it shows while one types. Each
 * fault has its place as a JSON Pointer. Pure.
 */
import { conditionsOf, edgesOf, NAME, parametersOf, stepsOf, type Edge, type FlowDocument, type Json, type Placed, type Step } from './document'
import { isOpenTemplate, readPath, stepsBefore, templatePaths, type FoundPath } from './paths'

export type FaultCode =
  | 'noName' | 'name' | 'nameTaken' | 'noSteps' | 'noJob' | 'noItems' | 'noFlow' | 'noText' | 'wait' | 'until' | 'end'
  | 'circle' | 'dead' | 'path' | 'template' | 'unknownStep' | 'notBefore' | 'unknownParameter' | 'noItem'

export interface LocalFault {
  where: string
  code: FaultCode
  /** What it is about: a path, a name. */
  of?: string
  /** It can be saved, but will not do what it looks like. */
  mild?: boolean
}

/* ---- circles ---- */

/** The edges that close one, found by a walk from the first step on. */
export function circleEdges(flow: FlowDocument): number[] {
  const out = new Map<string, Placed<Edge>[]>()
  for (const e of edgesOf(flow)) out.set(e.from, [...(out.get(e.from) ?? []), e])
  const state = new Map<string, 'open' | 'done'>()
  const back: number[] = []
  for (const { name } of stepsOf(flow)) {
    if (state.has(name)) continue
    const stack = [{ name, next: 0 }]
    state.set(name, 'open')
    while (stack.length) {
      const top = stack[stack.length - 1]!
      const edge = out.get(top.name)?.[top.next++]
      if (!edge) {
        state.set(top.name, 'done')
        stack.pop()
      } else if (state.get(edge.to) === 'open') back.push(edge.at)
      else if (!state.has(edge.to)) {
        state.set(edge.to, 'open')
        stack.push({ name: edge.to, next: 0 })
      }
    }
  }
  return back
}

/* ---- steps that can never start ---- */

/** What must have become of other steps when this one starts; undefined: it cannot start. */
type Need = Map<string, Set<'succeeded' | 'failed'>>
const ENDS = { success: ['succeeded'], failure: ['failed'], end: ['succeeded', 'failed'] } as const

function needOfEdge(edge: Edge, before: Need | undefined): Need | undefined {
  if (!before) return undefined
  const need: Need = new Map(before)
  need.set(edge.from, new Set(ENDS[edge.on ?? 'success'] ?? ENDS.success))
  return need
}

function both(a: Need, b: Need): Need | undefined {
  const need: Need = new Map(a)
  for (const [name, states] of b) {
    const mine = need.get(name)
    const left = new Set([...states].filter((s) => !mine || mine.has(s)))
    if (!left.size) return undefined
    need.set(name, left)
  }
  return need
}

function either(a: Need, b: Need): Need {
  const need: Need = new Map()
  for (const [name, states] of a) {
    const theirs = b.get(name)
    if (theirs) need.set(name, new Set([...states, ...theirs]))
  }
  return need
}

function needOf(step: Step, into: (Need | undefined)[]): Need | undefined {
  if (!into.length) return new Map()
  if (step.join === 'any') {
    const possible = into.filter((n): n is Need => n !== undefined)
    return possible.length ? possible.reduce(either) : undefined
  }
  return into.reduce((a, b) => a && b && both(a, b), new Map() as Need)
}

/** Of a flow without circles. Conditions are not looked at: they depend on values. */
export function deadSteps(flow: FlowDocument): string[] {
  const steps = stepsOf(flow)
  const edges = edgesOf(flow)
  const known = new Map<string, Need | undefined>()
  const left = new Set(steps)
  for (let went = true; went; ) {
    went = false
    for (const step of left) {
      const into = edges.filter((e) => e.to === step.name)
      if (into.some((e) => !known.has(e.from))) continue
      known.set(step.name, needOf(step, into.map((e) => needOfEdge(e, known.get(e.from)))))
      left.delete(step)
      went = true
    }
  }
  return steps.map((s) => s.name).filter((name) => known.has(name) && known.get(name) === undefined)
}

/* ---- names, members, paths ---- */

export function checkName(where: string, name: unknown): LocalFault[] {
  if (typeof name !== 'string' || name === '') return [{ where, code: 'noName' }]
  return NAME.test(name) ? [] : [{ where, code: 'name', of: name }]
}

const UNTIL = /^([01]\d|2[0-3]):[0-5]\d(:[0-5]\d)?$/

function checkStep(step: Placed<Step>): LocalFault[] {
  const place = `/steps/${step.at}`
  const found = checkName(`${place}/name`, step.name)
  const isJob = ['job', 'map', 'broadcast'].includes(step.type)
  if (isJob && !step.jobId) found.push({ where: `${place}/jobId`, code: 'noJob' })
  if (step.type === 'map' && !step.items) found.push({ where: `${place}/items`, code: 'noItems' })
  if (step.type === 'flow' && !step.flow) found.push({ where: `${place}/flow`, code: 'noFlow' })
  if (step.type === 'approval' && !step.text) found.push({ where: `${place}/text`, code: 'noText' })
  if (step.type !== 'wait') return found
  if ((step.seconds === undefined) === (step.until === undefined)) found.push({ where: place, code: 'wait' })
  else if (step.until !== undefined && !UNTIL.test(step.until)) found.push({ where: `${place}/until`, code: 'until' })
  return found
}

class Paths {
  private readonly parameters: Set<string>
  private readonly steps: Set<string>
  constructor(flow: FlowDocument) {
    this.parameters = new Set(parametersOf(flow).map((p) => p.name))
    this.steps = new Set(stepsOf(flow).map((s) => s.name))
  }

  judge(path: FoundPath, where: string, before: Set<string>, withItem: boolean, isTemplate: boolean): LocalFault[] {
    const fault = (code: FaultCode): LocalFault[] => [{ where, code, of: path.name ?? path.text }]
    switch (path.kind) {
      case 'unknown':
        return fault('path')
      case 'due':
        return isTemplate ? [] : fault('path')
      case 'item':
        return withItem ? [] : fault('noItem')
      case 'flow':
        return this.parameters.has(path.name!) ? [] : fault('unknownParameter')
      case 'step':
        if (!this.steps.has(path.name!)) return fault('unknownStep')
        return before.has(path.name!) ? [] : fault('notBefore')
      case 'run':
        return []
    }
  }
}

/** Every text in a value, with its place below it. */
function textsIn(value: Json | undefined, where: string): [string, string][] {
  if (typeof value === 'string') return [[where, value]]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, v]) =>
    textsIn(v, `${where}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`),
  )
}

function checkPaths(flow: FlowDocument): LocalFault[] {
  const paths = new Paths(flow)
  const found: LocalFault[] = []
  for (const step of stepsOf(flow)) {
    const place = `/steps/${step.at}`
    const before = stepsBefore(flow, step.name)
    if (step.type === 'map' && step.items)
      found.push(...paths.judge(readPath(step.items), `${place}/items`, before, false, false))
    for (const [where, text] of [
      ...textsIn(step.param, `${place}/param`),
      ...textsIn(step.text, `${place}/text`),
      ...textsIn(step.parameters, `${place}/parameters`),
    ]) {
      if (isOpenTemplate(text)) found.push({ where, code: 'template' })
      for (const path of templatePaths(text)) found.push(...paths.judge(path, where, before, step.type === 'map', true))
    }
  }
  for (const edge of edgesOf(flow)) {
    const before = new Set([...stepsBefore(flow, edge.from), edge.from])
    const group = edge.when?.any ? 'any' : 'all'
    for (const c of conditionsOf(edge))
      found.push(...paths.judge(readPath(c.path), `/edges/${edge.at}/when/${group}/${c.at}/path`, before, false, false))
  }
  return found
}

function twice(names: { name: string; at: number }[], list: string): LocalFault[] {
  return names
    .filter((n, i) => names.findIndex((o) => o.name === n.name) !== i)
    .map((n) => ({ where: `/${list}/${n.at}/name`, code: 'nameTaken', of: n.name }))
}

function named(list: unknown): { name: string; at: number }[] {
  if (!Array.isArray(list)) return []
  return list.flatMap((v: { name?: unknown } | null, at) => (typeof v?.name === 'string' ? [{ name: v.name, at }] : []))
}

export function checkFlow(flow: FlowDocument): LocalFault[] {
  const found: LocalFault[] = []
  const steps = stepsOf(flow)
  found.push(...checkName('/name', flow.name))
  if (!steps.length) found.push({ where: '/steps', code: 'noSteps' })
  found.push(...twice(named(flow.steps), 'steps'), ...twice(named(flow.parameters), 'parameters'))
  for (const p of parametersOf(flow))
    found.push(...checkName(`/parameters/${p.at}/name`, p.name))
  found.push(...steps.flatMap(checkStep))
  const known = new Set(steps.map((s) => s.name))
  for (const [at, e] of (Array.isArray(flow.edges) ? flow.edges : []).entries())
    for (const end of ['from', 'to'] as const)
      if (!known.has(e?.[end])) found.push({ where: `/edges/${at}/${end}`, code: 'end', of: String(e?.[end] ?? '') })
  const circles = circleEdges(flow)
  found.push(...circles.map((at): LocalFault => ({ where: `/edges/${at}`, code: 'circle' })))
  if (!circles.length) {
    const dead = new Set(deadSteps(flow))
    for (const s of steps) if (dead.has(s.name)) found.push({ where: `/steps/${s.at}`, code: 'dead', of: s.name, mild: true })
    found.push(...checkPaths(flow))
  }
  return found
}
