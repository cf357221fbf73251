// SPDX-License-Identifier: MIT
/**
 * live: what a poll means for a list that somebody reads: rows that are shown get their new state where they stand,
 * new rows are counted and wait to be asked for. Nothing moves by itself. Pure.
 */
export interface LiveRow {
  id: number
  triggerTime: string | null
}

export interface Polled<R> {
  rows: R[]
  /** The poll has all rows from `from` on; else those from its last row on. */
  complete: boolean
  from: string
}

export interface Live<R> {
  rows: R[]
  /** Not shown yet. */
  fresh: R[]
  /** There may be more new ones than the poll has. */
  freshIsMore: boolean
  /** Shown, but not in the list any more: removed, or its state is another. */
  gone: Set<number>
}

const timeOf = (row: LiveRow) => row.triggerTime ?? ''

function isBefore(a: LiveRow, b: LiveRow): boolean {
  return timeOf(a) === timeOf(b) ? a.id > b.id : timeOf(a) > timeOf(b)
}

export function mergeLive<R extends LiveRow>(shown: R[], polled: Polled<R> | undefined): Live<R> {
  if (!polled) return { rows: shown, fresh: [], freshIsMore: false, gone: new Set() }
  const byId = new Map(polled.rows.map((r) => [r.id, r]))
  const known = new Set(shown.map((r) => r.id))
  const bottom = shown[shown.length - 1]
  const fresh = polled.rows.filter((r) => !known.has(r.id) && (!bottom || shown.length < 2 || isBefore(r, bottom)))
  const last = polled.rows[polled.rows.length - 1]
  const since = polled.complete ? polled.from : last ? timeOf(last) : undefined
  const gone = shown.filter((r) => since !== undefined && timeOf(r) > since && !byId.has(r.id)).map((r) => r.id)
  const overlaps = polled.rows.some((r) => known.has(r.id))
  return {
    rows: shown.map((r) => byId.get(r.id) ?? r),
    fresh,
    freshIsMore: !polled.complete && !overlaps && polled.rows.length > 0,
    gone: new Set(gone),
  }
}

/** The list with the new rows in their places, without those that are gone. */
export function adopt<R extends LiveRow>(live: Live<R>): R[] {
  const rows = [...live.rows.filter((r) => !live.gone.has(r.id)), ...live.fresh]
  return rows.sort((a, b) => (isBefore(a, b) ? -1 : 1))
}
