// SPDX-License-Identifier: MIT
/** health: the worst of what is wrong with the cluster, with its numbers. Pure. */
import type { Schemas } from '@/api/client'

type Health = Schemas['Health']

export interface Trouble {
  code: NonNullable<Health['trouble']>['code']
  level: 'fail' | 'skip'
  n: number
  all: number
}

export function troubleOf(h: Health): Trouble | undefined {
  const code = h.trouble?.code
  if (!code) return undefined
  if (code === 'shards-unowned') return { code, level: 'fail', n: h.shards - h.shardsOwned, all: h.shards }
  if (code === 'node-silent') return { code, level: 'skip', n: h.nodes - h.nodesLive, all: h.nodes }
  return { code, level: 'fail', n: 1, all: 1 }
}
