// SPDX-License-Identifier: MIT
import { expect, test } from 'vitest'
import { exportOf, isNarrowed, jobFields, listQuery, queryOf } from './filters'
import { initialValues, readQuery, writeQuery } from '@/model/filters'

test('the address bar holds the filters, and gives them back', () => {
  const query = { text: 'order', group: '3', state: 'stopped', result: 'failed', tag: 'sync', owner: 'ann', sort: 'next' }
  const values = readQuery(jobFields, query)
  expect(values.group).toBe(3)
  expect(writeQuery(jobFields, values)).toEqual(query)
  expect(writeQuery(jobFields, initialValues(jobFields))).toEqual({})
  expect(readQuery(jobFields, { state: 'flying', group: 'x' })).toEqual(initialValues(jobFields))
})

test('what the server is asked for', () => {
  const none = initialValues(jobFields)
  expect(listQuery(none)).toEqual({})
  expect(isNarrowed({ ...none, sort: 'name', text: '  ' })).toBe(false)
  const some = { ...none, text: ' order ', state: 'stopped' as const, owner: 'ann', sort: 'last' as const }
  expect(queryOf(some)).toEqual({ text: 'order', running: 'false', author: 'ann' })
  expect(listQuery(some)).toEqual({ text: 'order', running: 'false', author: 'ann', sort: 'last' })
})

test('an export of whole groups needs no list of jobs', () => {
  const none = initialValues(jobFields)
  expect(exportOf(none)).toEqual({})
  expect(exportOf({ ...none, group: 3 })).toEqual({ group: '3' })
  expect(exportOf({ ...none, group: 3, tag: 'x' })).toBeUndefined()
})
