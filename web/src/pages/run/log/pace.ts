// SPDX-License-Identifier: MIT
/** pace: how soon the next lines of a log are asked for, in milliseconds. Pure. */

/** A page of so many lines was cut: there is more at once. */
const MANY = 500

/** Behind `got` lines, and so many answers without any before. */
export function pauseAfter(got: number, quiet: number): number {
  if (got >= MANY) return 0
  if (got > 0 || quiet < 5) return 1000
  return quiet < 30 ? 2000 : 5000
}

/** Behind the nth failure in a row. */
export function pauseBehindError(n: number): number {
  return Math.min(30_000, 1000 * 2 ** Math.min(n, 10))
}
