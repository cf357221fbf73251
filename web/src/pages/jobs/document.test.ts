// SPDX-License-Identifier: MIT
import { expect, test } from 'vitest'
import { faultOf, itemsOf, membersOf, MOST_BYTES, type ImportResult } from './document'

test('what cannot be sent is told before it is', () => {
  expect(faultOf('{"format":"shardwheel-jobs","version":1}')).toBeUndefined()
  expect(faultOf('{')).toMatchObject({ kind: 'notJson' })
  expect(faultOf('[]')).toEqual({ kind: 'notOurs' })
  expect(faultOf('null')).toEqual({ kind: 'notOurs' })
  expect(faultOf('中'.repeat(MOST_BYTES / 3 + 1))).toMatchObject({ kind: 'tooLarge' })
})

test('members that differ, own settings beside the others', () => {
  const before = { executorTimeout: 30, settings: { tags: ['a'], timeZone: 'UTC' } }
  const after = { executorTimeout: 60, settings: { tags: ['a'], timeZone: null }, author: 'ann' }
  expect(membersOf(before, after)).toEqual([
    { name: 'executorTimeout', before: '30', after: '60' },
    { name: 'timeZone', before: 'UTC', after: undefined },
    { name: 'author', before: undefined, after: 'ann' },
  ])
  expect(membersOf(null, null)).toEqual([])
  expect(membersOf({ jobGroup: 1, 'time-zone': 'UTC' }, { jobGroup: 2, glueSource: { length: 0, sha256: 'e3' } })).toEqual([
    { name: 'timeZone', before: 'UTC', after: undefined },
  ])
})

test('what needs a look comes first', () => {
  const item = { appname: 'a', id: 1, before: null, after: null }
  const result: ImportResult = {
    dryRun: true,
    create: 1,
    change: 1,
    same: 1,
    refused: 1,
    left: 0,
    groups: [{ ...item, outcome: 'same' }],
    jobs: [
      { ...item, name: 'new', outcome: 'create' },
      { ...item, name: 'other', outcome: 'change' },
      { ...item, name: 'twice', outcome: 'refused', kind: 'taken', field: 'name', detail: 'two of them' },
    ],
    flows: [
      {
        name: 'nightly',
        id: 2,
        outcome: 'change',
        before: { version: 1 },
        after: { version: 2, changes: ['+ step a', '- step b'] },
      },
    ],
    rules: [{ name: 'long_run tag=a', id: 3, outcome: 'change', before: { limit: 60 }, after: { limit: 90 } }],
    channels: [{ name: 'ops', id: 4, outcome: 'same', before: null, after: null }],
  }
  expect(itemsOf(result).map((i) => i.name)).toEqual(['twice', 'other', 'nightly', 'long_run tag=a', 'new', 'a', 'ops'])
  expect(itemsOf(result)[2]).toMatchObject({
    what: 'flow',
    appname: undefined,
    members: [
      { name: 'version', before: '1', after: '2' },
      { name: 'changes', before: undefined, after: '+ step a\n- step b' },
    ],
  })
  expect(itemsOf(result)[3]).toMatchObject({ what: 'rule', members: [{ name: 'limit', before: '60', after: '90' }] })
  expect(itemsOf(result)[0]).toMatchObject({ kind: 'taken', detail: 'two of them' })
})
