// SPDX-License-Identifier: MIT
/** views: what a saved list shows, as the query of its address. Pure. */
import type { Query } from '@/model/filters'

/** In one order, so that the same list is the same text. */
export function queryText(query: Query): string {
  const text = new URLSearchParams()
  for (const name of Object.keys(query).sort()) {
    const raw = query[name]
    const value = Array.isArray(raw) ? raw[0] : raw
    if (typeof value === 'string') text.append(name, value)
  }
  return text.toString()
}

export function readText(text: string): Record<string, string> {
  return Object.fromEntries(new URLSearchParams(text))
}

export function isSameQuery(a: string, b: string): boolean {
  return queryText(readText(a)) === queryText(readText(b))
}
