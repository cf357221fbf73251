// SPDX-License-Identifier: MIT
/** selection: which jobs are chosen: some by id, or all that match. Pure. */
export interface Selection {
  /** All that match the filters, also those that are not loaded. */
  all: boolean
  ids: ReadonlySet<number>
}

export const NOTHING: Selection = { all: false, ids: new Set() }

export function isSelected(s: Selection, id: number): boolean {
  return s.all || s.ids.has(id)
}

/** How many; `total` is how many match. */
export function countOf(s: Selection, total: number | undefined): number {
  return s.all ? (total ?? 0) : s.ids.size
}

/** One row, or with `from` all rows from there to it. Who takes one out of "all that match" has the loaded ones left. */
export function toggle(s: Selection, rows: readonly number[], id: number, from?: number): Selection {
  const ids = new Set(s.all ? rows : s.ids)
  const on = !ids.has(id)
  const a = rows.indexOf(id)
  const b = from === undefined ? a : rows.indexOf(from)
  const range = a < 0 || b < 0 ? [id] : rows.slice(Math.min(a, b), Math.max(a, b) + 1)
  for (const each of range) {
    if (on) ids.add(each)
    else ids.delete(each)
  }
  return { all: false, ids }
}

export function toggleLoaded(s: Selection, rows: readonly number[]): Selection {
  const has = s.all || rows.every((id) => s.ids.has(id))
  return has ? NOTHING : { all: false, ids: new Set(rows) }
}
