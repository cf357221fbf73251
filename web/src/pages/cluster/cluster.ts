// SPDX-License-Identifier: MIT
/** cluster: how far what was asked of the cluster has come. Pure. */
import type { Schemas } from '@/api/client'

export type NodeRow = Schemas['Node']
export type ShardRow = Schemas['Shard']
export type ShardList = Schemas['ShardList']

/** Only such an address becomes a link: the others of a row's may be code. */
export function isWebAddress(url: string): boolean {
  return /^https?:\/\//i.test(url)
}

/** Nodes that live, are not drained, and are not that one: who would take its shards. */
export function takersOf(nodes: readonly NodeRow[], incarnation: string): NodeRow[] {
  return nodes.filter((n) => n.state === 'live' && n.incarnation !== incarnation)
}

/** Undrained nodes take shards back: what can be asked of a node now. */
export function askable(node: NodeRow): 'drain' | 'undrain' | null {
  if (node.state === 'silent') return null
  return node.drain ? 'undrain' : 'drain'
}

export interface Progress {
  done: number
  all: number
}

/** How many cursors stand at the second at which all have to stand still for another number of shards. */
export function reshardProgress(list: ShardList): Progress | null {
  if (!list.reshard) return null
  const last = Date.parse(list.reshard.lastSecond)
  const done = list.items.filter((s) => s.cursor !== null && Date.parse(s.cursor) >= last).length
  return { done, all: list.items.length }
}

export interface Mistake {
  key: 'number' | 'same'
}

/** Why this is no number of shards to ask for; undefined: it is one. */
export function checkShards(text: string, now: number, most: number): Mistake | undefined {
  const n = Number(text)
  if (!/^\d{1,5}$/.test(text.trim()) || n < 1 || n > most) return { key: 'number' }
  return n === now ? { key: 'same' } : undefined
}

export const SHARD_SORTS = ['shard', 'lag', 'held'] as const
export type ShardSort = (typeof SHARD_SORTS)[number]

/** Those that a node owns, and the chosen one; no name: all. */
export function ofNode(shards: readonly ShardRow[], node: string, chosen?: number): readonly ShardRow[] {
  return node ? shards.filter((s) => s.owner === node || s.shard === chosen) : shards
}

/** Those that fell behind most first, or those that moved last; equal ones by number. */
export function sortShards(shards: readonly ShardRow[], by: ShardSort): ShardRow[] {
  const weight = (s: ShardRow): number => {
    if (by === 'lag') return -(s.lagMilliseconds ?? Infinity)
    return by === 'held' ? (s.heldSeconds ?? -1) : s.shard
  }
  return [...shards].sort((a, b) => {
    const x = weight(a)
    const y = weight(b)
    return x === y ? a.shard - b.shard : x < y ? -1 : 1
  })
}
