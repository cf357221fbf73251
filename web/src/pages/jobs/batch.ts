// SPDX-License-Identifier: MIT
/**
 * batch: the same for many jobs, in slices that can be stopped between two of them. What each job came to is added up.
 * Pure but for the calls that are handed in.
 */
import type { Schemas } from '@/api/client'

export type BatchAction = Schemas['Batch']['action']
export type BatchResult = Schemas['BatchResult']
export type BatchItem = BatchResult['items'][number]

/** A dry run writes nothing: large slices. A real one can be stopped behind each slice. */
export const DRY_SLICE = 2000
export const REAL_SLICE = 100

export interface Tally {
  /** Of so many. */
  asked: number
  done: number
  same: number
  refused: BatchItem[]
  refusedCount: number
  /** Not touched: it was stopped, or the time of a call was over. */
  left: number
  /** Whether it was stopped before the end. */
  stopped: boolean
}

/** So many that were refused are shown one by one. */
const REFUSED_SHOWN = 100

export function newTally(asked: number): Tally {
  return { asked, done: 0, same: 0, refused: [], refusedCount: 0, left: 0, stopped: false }
}

export function slices(ids: readonly number[], size: number): number[][] {
  const all: number[][] = []
  for (let i = 0; i < ids.length; i += size) all.push(ids.slice(i, i + size))
  return all
}

export function addUp(tally: Tally, result: BatchResult): Tally {
  const room = REFUSED_SHOWN - tally.refused.length
  const refused = result.items.filter((i) => i.outcome === 'refused').slice(0, Math.max(0, room))
  return {
    ...tally,
    done: tally.done + result.done,
    same: tally.same + result.same,
    refused: [...tally.refused, ...refused],
    refusedCount: tally.refusedCount + result.refused,
    left: tally.left + result.left,
  }
}

/** Jobs so far: what a bar of progress shows. */
export function progressOf(t: Tally): number {
  return t.done + t.same + t.refusedCount + t.left
}

export interface BatchRun {
  ids: readonly number[]
  slice: number
  call: (ids: number[]) => Promise<BatchResult>
  isStopped: () => boolean
  onStep: (tally: Tally) => void
}

/** A call that fails ends it: what came before it is told, and the error is thrown with it. */
export async function runBatch(run: BatchRun): Promise<Tally> {
  let tally = newTally(run.ids.length)
  for (const ids of slices(run.ids, run.slice)) {
    if (run.isStopped()) {
      tally = { ...tally, left: run.ids.length - tally.done - tally.same - tally.refusedCount, stopped: true }
      run.onStep(tally)
      return tally
    }
    tally = addUp(tally, await run.call(ids))
    run.onStep(tally)
  }
  return tally
}

/** Ids of all jobs of a list, page by page; undefined: it was stopped. */
export async function gatherIds(
  page: (after: string | undefined) => Promise<{ items: { id: number }[]; next: string | null }>,
  isStopped: () => boolean,
  onStep: (count: number) => void,
): Promise<number[] | undefined> {
  const ids = new Set<number>()
  let after: string | undefined
  do {
    if (isStopped()) return undefined
    const got = await page(after)
    for (const item of got.items) ids.add(item.id)
    onStep(ids.size)
    after = got.next ?? undefined
  } while (after !== undefined)
  return [...ids]
}
