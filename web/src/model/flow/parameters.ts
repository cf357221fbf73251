// SPDX-License-Identifier: MIT
/** parameters: the form of a run by hand: what each declared parameter is typed as, and what is sent. Pure. */
import type { Json, Parameter } from './document'

/** As it stands in its field; '' of one that is not required: it is left to its default. */
export type Typed = Record<string, string>
export type ParameterFault = 'required' | 'number' | 'json'

export function textOfValue(value: Json | undefined, type: Parameter['type']): string {
  if (value === undefined) return ''
  return typeof value === 'string' && type !== 'json' ? value : JSON.stringify(value)
}

export function typedOf(parameters: readonly Parameter[], values: Record<string, Json> = {}): Typed {
  return Object.fromEntries(parameters.map((p) => [p.name, textOfValue(values[p.name] ?? p.default, p.type)]))
}

interface Read {
  /** Undefined: there is none. */
  value?: Json
  fault?: ParameterFault
}

export function readValue(text: string, type: Parameter['type']): Read {
  if (!type || type === 'text') return { value: text === '' ? undefined : text }
  if (text.trim() === '') return {}
  switch (type) {
    case 'number':
      return /^\s*-?\d+(\.\d+)?([eE][+-]?\d+)?\s*$/.test(text) ? { value: Number(text) } : { fault: 'number' }
    case 'boolean':
      return { value: text === 'true' }
    case 'json':
      try {
        return { value: JSON.parse(text) as Json }
      } catch {
        return { fault: 'json' }
      }
  }
}

export function readParameters(
  parameters: readonly Parameter[],
  typed: Typed,
): { values: Record<string, Json>; faults: Record<string, ParameterFault> } {
  const values: Record<string, Json> = {}
  const faults: Record<string, ParameterFault> = {}
  for (const p of parameters) {
    const { value, fault } = readValue(typed[p.name] ?? '', p.type)
    const isEmptied = value === undefined && typeof p.default === 'string' && (p.type ?? 'text') === 'text'
    if (fault) faults[p.name] = fault
    else if (value !== undefined) values[p.name] = value
    else if (isEmptied) values[p.name] = ''
    else if (p.required) faults[p.name] = 'required'
  }
  return { values, faults }
}
