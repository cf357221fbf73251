// SPDX-License-Identifier: MIT
/** diff: what a change did to each member of a thing. Pure. */

export interface MemberChange {
  name: string
  /** Undefined: it was not there, or is gone. */
  before: string | undefined
  after: string | undefined
}

function textOf(value: unknown): string | undefined {
  if (value === undefined) return undefined
  if (typeof value === 'string') return value
  if (Array.isArray(value) && value.every((v) => typeof v !== 'object')) return value.join(', ')
  return JSON.stringify(value)
}

type Members = Record<string, unknown> | null | undefined

/** Members that differ, in the order of the later state. */
export function diffMembers(before: Members, after: Members): MemberChange[] {
  const names = new Set([...Object.keys(after ?? {}), ...Object.keys(before ?? {})])
  return [...names]
    .map((name) => ({ name, before: textOf(before?.[name]), after: textOf(after?.[name]) }))
    .filter((c) => c.before !== c.after)
}
