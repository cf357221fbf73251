// SPDX-License-Identifier: MIT
/** condition: the value of a condition as it is typed: 5, true and "5" are JSON, abc is a text. Pure. */
import type { Json, OPERATORS } from '@/model/flow/document'

export function readCondition(text: string): Json {
  try {
    return JSON.parse(text) as Json
  } catch {
    return text
  }
}

/** A text that would be read as something else stands in quotes. */
export function showCondition(value: Json | undefined): string {
  if (value === undefined) return ''
  if (typeof value !== 'string') return JSON.stringify(value)
  return readCondition(value) === value ? value : JSON.stringify(value)
}

/** How an operator is called in the texts. */
export const OPERATOR_WORDS = {
  '=': 'eq',
  '!=': 'ne',
  '<': 'lt',
  '<=': 'le',
  '>': 'gt',
  '>=': 'ge',
  contains: 'contains',
  startsWith: 'startsWith',
  exists: 'exists',
} as const satisfies Record<(typeof OPERATORS)[number], string>
