// SPDX-License-Identifier: MIT
import { expect, it } from 'vitest'
import { diffMembers } from './diff'

it('has what differs, and what came and went', () => {
  expect(diffMembers({ a: 1, b: 'x', c: true }, { a: 2, b: 'x', d: [1, 2] })).toEqual([
    { name: 'a', before: '1', after: '2' },
    { name: 'd', before: undefined, after: '1, 2' },
    { name: 'c', before: 'true', after: undefined },
  ])
})

it('has all of what was added, and all of what is gone', () => {
  expect(diffMembers(null, { name: 'n', of: { x: null } })).toEqual([
    { name: 'name', before: undefined, after: 'n' },
    { name: 'of', before: undefined, after: '{"x":null}' },
  ])
  expect(diffMembers({ name: '' }, null)).toEqual([{ name: 'name', before: '', after: undefined }])
  expect(diffMembers(null, null)).toEqual([])
})
