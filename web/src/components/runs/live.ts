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
  /** Rows from before `from`, each asked for by itself. */
  older?: R[]
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

/** `matches`: whether a row is still what the list is narrowed to. */
export function mergeLive<R extends LiveRow>(
  shown: R[],
  polled: Polled<R> | undefined,
  matches: (row: R) => boolean = () => true,
): Live<R> {
  if (!polled) return { rows: shown, fresh: [], freshIsMore: false, gone: new Set() }
  const older = polled.older ?? []
  const byId = new Map([...older, ...polled.rows].map((r) => [r.id, r]))
  const known = new Set(shown.map((r) => r.id))
  const bottom = shown[shown.length - 1]
  const fresh = polled.rows.filter((r) => !known.has(r.id) && (!bottom || shown.length < 2 || isBefore(r, bottom)))
  const last = polled.rows[polled.rows.length - 1]
  const since = polled.complete ? polled.from : last ? timeOf(last) : undefined
  const isGone = (r: R) => (since !== undefined && timeOf(r) > since && !byId.has(r.id)) || !matches(byId.get(r.id) ?? r)
  const gone = shown.filter(isGone).map((r) => r.id)
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

/** How far back a poll looks behind the time when the list was loaded, in milliseconds. */
const LOOKS_BACK = 600_000
/** Rows that are asked for one by one. */
const OLDER_MOST = 10

export interface Plan {
  from: string
  older: number[]
}

/**
 * What a poll asks for: the minutes before the list was loaded and all since, but not more than its first page; and the
 * runs on it that go on for longer. So it costs the same however few rows of the log match.
 */
export function planPoll<R extends LiveRow>(shown: R[], first: number, loadedAt: number, isOpen: (row: R) => boolean): Plan {
  const start = new Date(loadedAt - LOOKS_BACK).toISOString()
  const bound = timeOf(shown[Math.min(first, shown.length) - 1] ?? { id: 0, triggerTime: null })
  const from = bound > start ? bound : start
  const older = shown.filter((r) => isOpen(r) && timeOf(r) < from).slice(0, OLDER_MOST)
  return { from, older: older.map((r) => r.id) }
}
