// SPDX-License-Identifier: MIT
/** row-window: which of many rows of one height are on screen, and some around them. Pure. */
export interface RowWindow {
  from: number
  /** Behind the last. */
  to: number
}

/** `top`: where the first row is, as seen from the top of what scrolls; negative once it is scrolled past. */
export function rowsOnScreen(top: number, view: number, row: number, count: number, around = 8): RowWindow {
  const first = Math.floor(-top / row) - around
  const behind = Math.ceil((view - top) / row) + around
  const from = Math.min(Math.max(0, first), Math.max(0, count - 1))
  return { from, to: Math.max(from, Math.min(count, behind)) }
}
