// SPDX-License-Identifier: MIT
/**
 * heights: how high each line of a log is, so that of 100,000 only those in view are drawn. A tree of sums: every
 * question and every change takes a few steps. Pure.
 */
export class Heights {
  /** Of each line. */
  private values: number[] = []
  /** tree[i]: the sum of the last (i & -i) values before i. */
  private tree: number[] = [0]

  get length(): number {
    return this.values.length
  }

  get(i: number): number {
    return this.values[i] ?? 0
  }

  push(height: number): void {
    this.values.push(height)
    const n = this.values.length
    let sum = height
    for (let j = n - 1; j > n - (n & -n); j -= j & -j) sum += this.tree[j]!
    this.tree.push(sum)
  }

  set(i: number, height: number): void {
    const by = height - this.values[i]!
    this.values[i] = height
    for (let j = i + 1; j < this.tree.length; j += j & -j) this.tree[j]! += by
  }

  /** Where line i begins. */
  offsetOf(i: number): number {
    let sum = 0
    for (let j = Math.min(i, this.length); j > 0; j -= j & -j) sum += this.tree[j]!
    return sum
  }

  get total(): number {
    return this.offsetOf(this.length)
  }

  /** The line that has this place; the last one below all. */
  indexAt(y: number): number {
    let at = 0
    let left = y
    for (let step = 1 << 30; step > 0; step >>= 1) {
      const next = at + step
      if (next <= this.length && this.tree[next]! <= left) {
        at = next
        left -= this.tree[next]!
      }
    }
    return Math.max(0, Math.min(at, this.length - 1))
  }
}

export interface Window {
  /** Lines to draw: first up to, without, last. */
  first: number
  last: number
  /** Where the first one begins. */
  top: number
}

/** Lines in view, and some around them. */
export function windowOf(heights: Heights, top: number, height: number, around: number): Window {
  if (heights.length === 0) return { first: 0, last: 0, top: 0 }
  const first = Math.max(0, heights.indexAt(Math.max(0, top)) - around)
  const last = Math.min(heights.length, heights.indexAt(Math.max(0, top) + height) + 1 + around)
  return { first, last, top: heights.offsetOf(first) }
}
