// SPDX-License-Identifier: MIT
import { expect, test } from 'vitest'
import { gatherIds, progressOf, runBatch, slices, type BatchItem, type BatchResult } from './batch'

const IDS = Array.from({ length: 250 }, (_, i) => i + 1)

function answer(ids: number[], refused: number[] = []): BatchResult {
  const items = ids.map((id): BatchItem => ({ id, name: `job ${id}`, outcome: refused.includes(id) ? 'refused' : 'done' }))
  const no = items.filter((i) => i.outcome === 'refused').length
  return { dryRun: false, matched: ids.length, done: ids.length - no, same: 0, refused: no, left: 0, items }
}

test('all jobs are done, slice by slice, and what was refused is told', async () => {
  const steps: number[] = []
  const calls: number[][] = []
  const tally = await runBatch({
    ids: IDS,
    slice: 100,
    call: (ids) => (calls.push(ids), Promise.resolve(answer(ids, [7, 201]))),
    isStopped: () => false,
    onStep: (t) => steps.push(progressOf(t)),
  })
  expect(calls.map((c) => c.length)).toEqual([100, 100, 50])
  expect(calls.flat()).toEqual(IDS)
  expect(steps).toEqual([100, 200, 250])
  expect(tally).toMatchObject({ asked: 250, done: 248, refusedCount: 2, left: 0, stopped: false })
  expect(tally.refused.map((i) => i.id)).toEqual([7, 201])
})

test('it stops between two slices, and says what is left', async () => {
  let stop = false
  const tally = await runBatch({
    ids: IDS,
    slice: 100,
    call: (ids) => ((stop = true), Promise.resolve(answer(ids))),
    isStopped: () => stop,
    onStep: () => undefined,
  })
  expect(tally).toMatchObject({ done: 100, left: 150, stopped: true })
})

test('slices', () => {
  expect(slices([], 10)).toEqual([])
  expect(slices([1, 2, 3], 2)).toEqual([[1, 2], [3]])
})

test('ids are gathered page by page, each once', async () => {
  const pages = [
    { items: [{ id: 3 }, { id: 2 }], next: 'a' },
    { items: [{ id: 2 }, { id: 1 }], next: null },
  ]
  const seen: number[] = []
  const ids = await gatherIds((after) => Promise.resolve(pages[after ? 1 : 0]!), () => false, (n) => seen.push(n))
  expect(ids).toEqual([3, 2, 1])
  expect(seen).toEqual([2, 3])
  expect(await gatherIds(() => Promise.resolve(pages[0]!), () => true, () => undefined)).toBeUndefined()
})
