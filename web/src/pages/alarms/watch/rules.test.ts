// SPDX-License-Identifier: MIT
import { expect, test } from 'vitest'
import { changedBody, faultOf, formOf, newBody, type Rule } from './rules'

const AT = '2026-01-01T00:00:00.000Z'
const RULE: Rule = { id: 1, kind: 'not_done', tag: 'night', group: null, limit: null, doneBy: '06:30', changedAt: AT }

test('a rule is what its form says', () => {
  expect(changedBody(formOf(RULE))).toEqual({ tag: 'night', group: null, doneBy: '06:30' })
  expect(newBody({ ...formOf(null), limit: ' 3600 ', group: 'app' })).toEqual({
    kind: 'no_success',
    tag: null,
    group: 'app',
    limit: 3600,
  })
  expect(newBody({ ...formOf(RULE), kind: 'few_executors', limit: '2' })).toEqual({
    kind: 'few_executors',
    group: null,
    limit: 2,
  })
  expect(newBody({ ...formOf(RULE), kind: 'late_shard', limit: '5' })).toEqual({ kind: 'late_shard', limit: 5 })
})

test('what is missing is found before the server is asked', () => {
  expect(faultOf(formOf(RULE))).toBeUndefined()
  expect(faultOf({ ...formOf(RULE), doneBy: '24:00' })).toBe('doneBy')
  expect(faultOf(formOf(null))).toBe('limit')
  expect(faultOf({ ...formOf(null), limit: '-1' })).toBe('limit')
  expect(faultOf({ ...formOf(null), limit: '60' })).toBeUndefined()
})
