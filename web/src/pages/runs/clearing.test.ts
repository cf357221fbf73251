// SPDX-License-Identifier: MIT
import { expect, test, vi } from 'vitest'
import { clearInPieces, makeClear } from './clearing'

test('each rule is what the server takes', () => {
  expect(makeClear('month3', '', { jobId: 4 })).toEqual({ jobId: 4, type: 2 })
  expect(makeClear('keep30000', '', {})).toEqual({ keepNewest: 30_000 })
  expect(makeClear('all', '', { jobGroup: 2 })).toEqual({ jobGroup: 2, type: 9 })
  expect(makeClear('before', '2026-01-01T00:00:00.000Z', {})).toEqual({ before: '2026-01-01T00:00:00.000Z' })
  expect(makeClear('before', '', {})).toBeUndefined()
})

test('pieces go on where the one before ended, until all is done', async () => {
  const call = vi
    .fn()
    .mockResolvedValueOnce({ deleted: 0, done: false, next: null })
    .mockResolvedValueOnce({ deleted: 5, done: false, next: 'here' })
    .mockResolvedValueOnce({ deleted: 0, done: false, next: null })
    .mockResolvedValueOnce({ deleted: 2, done: true, next: null })
  const told: number[] = []
  expect(await clearInPieces(call, () => true, (n) => told.push(n))).toBe(true)
  expect(told).toEqual([0, 5, 5, 7])
  expect(call.mock.calls.map(([piece]) => piece.after)).toEqual([undefined, undefined, 'here', 'here'])
})

test('it ends behind the piece during which somebody stops it', async () => {
  const call = vi.fn().mockResolvedValue({ deleted: 5, done: false, next: 'here' })
  let rounds = 0
  expect(await clearInPieces(call, () => ++rounds < 3, () => {})).toBe(false)
  expect(call).toHaveBeenCalledTimes(3)
})
