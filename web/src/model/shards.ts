// SPDX-License-Identifier: MIT
/** shards: who owns what and how far behind it is, as cells. Pure. */
import type { Schemas } from '@/api/client'

type Shard = Schemas['Shard']

/** A shard that is this far behind has its cell full, in milliseconds; half of it is a lot. */
export const LAG_FULL_MS = 10_000
export const LAG_LATE_MS = 3_000
/** It came to its owner a moment ago. */
export const MOVED_S = 15

export interface ShardCell {
  shard: number
  owner: string | null
  epoch: number
  heldSeconds: number | null
  lagMs: number | null
  /** 0 to 1. */
  fill: number
  state: 'ok' | 'late' | 'unowned'
  moved: boolean
}

export function cellOf(s: Shard): ShardCell {
  const lagMs = s.lagMilliseconds
  const behind = Math.max(0, lagMs ?? 0)
  return {
    shard: s.shard,
    owner: s.owner,
    epoch: s.epoch,
    heldSeconds: s.heldSeconds,
    lagMs,
    fill: Math.min(1, behind / LAG_FULL_MS),
    state: s.owner === null ? 'unowned' : behind >= LAG_LATE_MS ? 'late' : 'ok',
    moved: s.heldSeconds !== null && s.heldSeconds < MOVED_S,
  }
}

export interface OwnerCells {
  owner: string | null
  cells: ShardCell[]
}

/** By owner, in the order of names; those without one last. */
export function byOwner(shards: readonly Shard[]): OwnerCells[] {
  const owners = new Map<string | null, ShardCell[]>()
  for (const s of shards) {
    const cells = owners.get(s.owner) ?? []
    cells.push(cellOf(s))
    owners.set(s.owner, cells)
  }
  return [...owners]
    .map(([owner, cells]) => ({ owner, cells }))
    .sort((a, b) => (a.owner === null ? 1 : b.owner === null ? -1 : a.owner.localeCompare(b.owner)))
}
