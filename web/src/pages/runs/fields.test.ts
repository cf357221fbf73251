// SPDX-License-Identifier: MIT
import { expect, test } from 'vitest'
import { RUN_FIELDS, toFilter } from './fields'
import { readQuery, writeQuery } from '@/model/filters'

test('filters go into the address bar and come back', () => {
  const query = { jobId: '7', result: 'failed,lost', late: 'yes', range: 'hour', text: 'a=b&c', address: 'http://h:1/' }
  const values = readQuery(RUN_FIELDS, query)
  expect(writeQuery(RUN_FIELDS, values)).toEqual(query)
  expect(toFilter(values)).toMatchObject({ jobId: 7, result: 'failed,lost', late: true, range: 'hour', text: 'a=b&c' })
})

test('what cannot be read does not narrow the list', () => {
  const values = readQuery(RUN_FIELDS, { jobId: 'x', result: 'bad', range: 'century', from: 'then' })
  expect(writeQuery(RUN_FIELDS, values)).toEqual({})
})

test('a link with times of its own needs no range; a quick choice leaves them aside', () => {
  const own = readQuery(RUN_FIELDS, { from: '2026-11-22T10:00:00Z' })
  expect(toFilter(readQuery(RUN_FIELDS, { late: 'yes' })).late).toBe(true)
  expect(toFilter(own)).toMatchObject({ range: 'own', from: '2026-11-22T10:00:00.000Z', to: undefined })
  const quick = readQuery(RUN_FIELDS, { from: '2026-11-22T10:00:00Z', range: 'today' })
  expect(toFilter(quick).from).toBeUndefined()
})
