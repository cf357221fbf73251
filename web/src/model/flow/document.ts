// SPDX-License-Identifier: MIT
/**
 * document: a flow as the editor holds it. While it is typed it may have anything in it, so what reads it goes by
 * `stepsOf` and `edgesOf`, which leave out what is no step and no edge. Changes make a new document. Pure.
 */
export type Json = string | number | boolean | null | Json[] | { [key: string]: Json }

export const STEP_TYPES = ['job', 'map', 'broadcast', 'wait', 'approval', 'flow'] as const
export type StepType = (typeof STEP_TYPES)[number]
export const ONS = ['success', 'failure', 'end'] as const
export type On = (typeof ONS)[number]
export const OPERATORS = ['=', '!=', '<', '<=', '>', '>=', 'contains', 'startsWith', 'exists'] as const
export const PARAMETER_TYPES = ['text', 'number', 'boolean', 'json'] as const
export type ParameterType = (typeof PARAMETER_TYPES)[number]

export interface Parameter {
  name: string
  type?: ParameterType
  default?: Json
  required?: boolean
  description?: string
}
export interface Step {
  name: string
  type: StepType
  description?: string
  join?: 'all' | 'any'
  jobId?: number
  param?: string
  items?: string
  parallel?: number
  seconds?: number
  until?: string
  text?: string
  flow?: string
  parameters?: Record<string, Json>
  /** The reader may not see it. */
  closed?: boolean
}
export interface Condition {
  path: string
  is: string
  value?: Json
}
export interface When {
  all?: Condition[]
  any?: Condition[]
}
export interface Edge {
  from: string
  to: string
  on?: On
  when?: When
}
export interface Schedule {
  cron?: string
  every?: number
  delay?: number
  zone?: string
  from?: string
  until?: string
  misfire?: 'skip' | 'once'
}
export interface FlowDocument {
  name: string
  description?: string
  parameters?: Parameter[]
  steps: Step[]
  edges?: Edge[]
  schedule?: Schedule
  whenRunning?: 'skip' | 'queue' | 'parallel'
  queueMax?: number
  deadline?: number
  retentionDays?: number
  tags?: string[]
  alarm?: string[]
}

export const NAME = /^[A-Za-z0-9_-]{1,64}$/

export const emptyFlow = (name = ''): FlowDocument => ({ name, steps: [] })

/** With its place in the document. */
export type Placed<T> = T & { at: number }

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function listOf<T>(value: unknown, isOne: (v: Record<string, unknown>) => boolean): Placed<T>[] {
  if (!Array.isArray(value)) return []
  return value.flatMap((v, at) => (isObject(v) && isOne(v) ? [{ ...v, at } as Placed<T>] : []))
}

/** A name that is used twice counts once. */
export function stepsOf(flow: FlowDocument): Placed<Step>[] {
  const all = listOf<Step>(flow.steps, (s) => typeof s.name === 'string' && s.name !== '')
  return all.filter((s, i) => all.findIndex((o) => o.name === s.name) === i)
}

export function edgesOf(flow: FlowDocument): Placed<Edge>[] {
  const names = new Set(stepsOf(flow).map((s) => s.name))
  const isKnown = (name: unknown) => typeof name === 'string' && names.has(name)
  return listOf<Edge>(flow.edges, (e) => isKnown(e.from) && isKnown(e.to))
}

export function parametersOf(flow: FlowDocument): Placed<Parameter>[] {
  return listOf<Parameter>(flow.parameters, (p) => typeof p.name === 'string')
}

export function conditionsOf(edge: Edge): Placed<Condition>[] {
  if (!isObject(edge.when)) return []
  return listOf<Condition>(edge.when.any ?? edge.when.all, (c) => typeof c.path === 'string')
}

/** Whether a text that is JSON can be shown as a flow at all. */
export function isFlow(value: unknown): value is FlowDocument {
  return isObject(value) && (value.steps === undefined || Array.isArray(value.steps))
}

/* ---- as text ---- */

const WIDTH = 100

function inLine(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(inLine).join(', ')}]`
  if (!isObject(value)) return JSON.stringify(value)
  return `{${Object.entries(value as Record<string, Json>).map(([k, v]) => `${JSON.stringify(k)}: ${inLine(v)}`).join(', ')}}`
}

function put(value: Json, indent: string, used: number): string {
  const flat = inLine(value)
  if (typeof value !== 'object' || value === null || indent.length + used + flat.length <= WIDTH) return flat
  const deeper = `${indent}  `
  const parts = Array.isArray(value)
    ? value.map((v) => put(v, deeper, 1))
    : Object.entries(value).map(([k, v]) => `${JSON.stringify(k)}: ${put(v, deeper, k.length + 5)}`)
  const [open, close] = Array.isArray(value) ? '[]' : '{}'
  return `${open}\n${parts.map((p) => deeper + p).join(',\n')}\n${indent}${close}`
}

/** As people write it: what fits stands in one line, the document itself never does. */
export function formatFlow(flow: FlowDocument): string {
  const members = Object.entries(flow as unknown as Record<string, Json>).filter(([, v]) => v !== undefined)
  const isList = (v: Json): v is Json[] => Array.isArray(v) && v.some((one) => typeof one === 'object')
  const lines = members.map(([key, value]) => {
    const head = `  ${JSON.stringify(key)}: `
    if (!isList(value)) return head + put(value, '  ', key.length + 5)
    return `${head}[\n${value.map((v) => `    ${put(v, '    ', 1)}`).join(',\n')}\n  ]`
  })
  return lines.length ? `{\n${lines.join(',\n')}\n}\n` : '{}\n'
}
