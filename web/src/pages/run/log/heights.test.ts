// SPDX-License-Identifier: MIT
import { expect, test } from 'vitest'
import { Heights, windowOf } from './heights'

function make(count: number, height: (i: number) => number = () => 18): Heights {
  const h = new Heights()
  for (let i = 0; i < count; i++) h.push(height(i))
  return h
}

test('places and lines agree, whatever the heights', () => {
  const h = make(1000, (i) => 18 * (1 + (i % 7)))
  let sum = 0
  for (let i = 0; i < 1000; i++) {
    expect(h.offsetOf(i)).toBe(sum)
    expect(h.indexAt(sum)).toBe(i)
    expect(h.indexAt(sum + h.get(i) - 1)).toBe(i)
    sum += h.get(i)
  }
  expect(h.total).toBe(sum)
  expect(h.indexAt(sum + 999)).toBe(999)
  expect(new Heights().indexAt(5)).toBe(0)
})

test('a line that turns out higher moves those below it', () => {
  const h = make(100)
  h.set(10, 54)
  expect(h.offsetOf(10)).toBe(180)
  expect(h.offsetOf(11)).toBe(234)
  expect(h.total).toBe(1836)
  h.push(18)
  expect(h.offsetOf(100)).toBe(1836)
  expect(h.indexAt(200)).toBe(10)
})

test('only what is in view is drawn', () => {
  const h = make(100_000)
  expect(windowOf(h, 0, 400, 10)).toEqual({ first: 0, last: 33, top: 0 })
  expect(windowOf(h, 900_000, 400, 10)).toEqual({ first: 49_990, last: 50_033, top: 899_820 })
  expect(windowOf(h, 1_799_600, 400, 10).last).toBe(100_000)
  expect(windowOf(new Heights(), 50, 400, 10)).toEqual({ first: 0, last: 0, top: 0 })
})

test('100,000 lines cost milliseconds', () => {
  const h = make(100_000)
  const begun = performance.now()
  for (let i = 0; i < 100_000; i += 10) h.set(i, 36)
  for (let i = 0; i < 10_000; i++) windowOf(h, i * 180, 800, 20)
  expect(performance.now() - begun).toBeLessThan(1000)
})
