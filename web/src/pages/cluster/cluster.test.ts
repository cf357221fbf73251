// SPDX-License-Identifier: MIT
import { describe, expect, test } from 'vitest'
import {
  askable,
  checkShards,
  isWebAddress,
  ofNode,
  reshardProgress,
  sortShards,
  takersOf,
  type NodeRow,
  type ShardRow,
} from './cluster'

const node = (name: string, state: NodeRow['state'], drain = false): NodeRow => ({
  node: name,
  incarnation: `${name}-1`,
  url: '',
  version: '0.1.0',
  state,
  owned: 0,
  drain,
  releasing: null,
  startedAt: '2026-11-22T16:00:00.000Z',
  beatAt: '2026-11-22T16:00:00.000Z',
  upSeconds: 1,
  beatAgeMilliseconds: 0,
  clockAheadMilliseconds: 0,
})

const shard = (number: number, cursor: string | null, lagMilliseconds: number | null = 0, heldSeconds: number | null = 9): ShardRow => ({
  shard: number,
  owner: 'a',
  epoch: 1,
  heldSeconds,
  cursor,
  lagMilliseconds,
})

test('shards of a node go to others that live and are not drained', () => {
  const nodes = [node('a', 'live'), node('b', 'live'), node('c', 'silent'), node('d', 'drained', true), node('e', 'draining', true)]
  expect(takersOf(nodes, 'a-1').map((n) => n.node)).toEqual(['b'])
  expect(nodes.map(askable)).toEqual(['drain', 'drain', null, 'undrain', 'undrain'])
})

test('another number of shards is there when all cursors stand still', () => {
  const list = {
    now: '2026-11-22T16:00:00.000Z',
    shards: 3,
    reshard: { shards: 5, lastSecond: '2026-11-22T16:00:10.000Z', try: 1, tries: 5 },
    items: [shard(0, '2026-11-22T16:00:10.000Z'), shard(1, '2026-11-22T16:00:09.000Z'), shard(2, null)],
  }
  expect(reshardProgress(list)).toEqual({ done: 1, all: 3 })
  expect(reshardProgress({ ...list, reshard: null })).toBeNull()
})

describe('numbers of shards', () => {
  test.each([
    ['8', 'same'],
    ['0', 'number'],
    ['1025', 'number'],
    ['7.5', 'number'],
    ['', 'number'],
    ['16', undefined],
  ])('%s', (text, key) => expect(checkShards(text, 8, 1024)?.key).toBe(key))
})

test('shards are sorted by what they fell behind, and by when they moved', () => {
  const shards = [shard(0, null, 5, 90), shard(1, null, 500, 3), shard(2, null, null, null), shard(3, null, 5, 3)]
  expect(sortShards(shards, 'lag').map((s) => s.shard)).toEqual([2, 1, 0, 3])
  expect(sortShards(shards, 'held').map((s) => s.shard)).toEqual([2, 1, 3, 0])
  expect(sortShards(shards, 'shard').map((s) => s.shard)).toEqual([0, 1, 2, 3])
})

test('the shards of one node, and the one that was asked for', () => {
  const shards = [shard(0, null), { ...shard(1, null), owner: 'b' }, { ...shard(2, null), owner: null }]
  const of = (node: string, chosen?: number) => ofNode(shards, node, chosen).map((s) => s.shard)
  expect([of(''), of('b'), of('b', 2), of('gone')]).toEqual([[0, 1, 2], [1], [1, 2], []])
})

test('a node is linked by what can only be an address', () => {
  expect(isWebAddress('http://10.0.0.1:8080')).toBe(true)
  expect(isWebAddress('HTTPS://admin.example/x')).toBe(true)
  for (const url of ['', 'javascript:alert(1)', ' http://x', '//host', 'java\nscript:http://']) expect(isWebAddress(url)).toBe(false)
})
