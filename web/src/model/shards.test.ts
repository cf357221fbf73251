// SPDX-License-Identifier: MIT
import { expect, test } from 'vitest'
import { byOwner, cellOf } from './shards'

const shard = (shard: number, owner: string | null, lagMilliseconds: number | null = 0, heldSeconds: number | null = 99) => ({
  shard,
  owner,
  epoch: 1,
  heldSeconds,
  cursor: null,
  lagMilliseconds,
})

test('cells are by owner, those without one last', () => {
  const owners = byOwner([shard(0, 'b'), shard(1, null), shard(2, 'a'), shard(3, 'b')])
  expect(owners.map((o) => [o.owner, o.cells.map((c) => c.shard)])).toEqual([
    ['a', [2]],
    ['b', [0, 3]],
    [null, [1]],
  ])
})

test('a cell fills up as its shard falls behind', () => {
  expect([cellOf(shard(0, 'a', -900)).fill, cellOf(shard(0, 'a', 5000)).fill, cellOf(shard(0, 'a', 90_000)).fill]).toEqual([0, 0.5, 1])
  expect(cellOf(shard(0, 'a', 2999)).state).toBe('ok')
  expect(cellOf(shard(0, 'a', 3000)).state).toBe('late')
  expect(cellOf(shard(0, null, null, null)).state).toBe('unowned')
})

test('what came a moment ago is marked', () => {
  expect([cellOf(shard(0, 'a', 0, 3)).moved, cellOf(shard(0, 'a', 0, 15)).moved, cellOf(shard(0, 'a', 0, null)).moved]).toEqual([true, false, false])
})
