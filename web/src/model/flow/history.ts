// SPDX-License-Identifier: MIT
/** history: what can be undone. Changes of one kind that follow closely, such as typing into one field, are one. Pure. */
export interface History<T> {
  past: readonly T[]
  now: T
  future: readonly T[]
  /** Of the last change: what it was, and when. */
  kind?: string
  at: number
}

const MOST = 200
export const TOGETHER_MS = 1500

export function startHistory<T>(now: T): History<T> {
  return { past: [], now, future: [], at: 0 }
}

export function record<T>(h: History<T>, next: T, at: number, kind?: string): History<T> {
  if (next === h.now) return h
  const isSame = kind !== undefined && kind === h.kind && at - h.at < TOGETHER_MS && h.past.length > 0
  return { past: isSame ? h.past : [...h.past, h.now].slice(-MOST), now: next, future: [], kind, at }
}

export function undo<T>(h: History<T>): History<T> {
  const before = h.past[h.past.length - 1]
  if (before === undefined) return h
  return { past: h.past.slice(0, -1), now: before, future: [h.now, ...h.future], at: 0 }
}

export function redo<T>(h: History<T>): History<T> {
  const [next, ...rest] = h.future
  if (next === undefined) return h
  return { past: [...h.past, h.now], now: next, future: rest, at: 0 }
}
