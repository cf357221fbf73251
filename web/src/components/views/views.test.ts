// SPDX-License-Identifier: MIT
import { expect, test } from 'vitest'
import { isSameQuery, queryText, readText } from './views'

test('a view is the query of its address, in one order', () => {
  const text = queryText({ tag: 'night & day', sort: 'failures', gone: null, twice: ['a', 'b'] })
  expect(text).toBe('sort=failures&tag=night+%26+day&twice=a')
  expect(readText(text)).toEqual({ sort: 'failures', tag: 'night & day', twice: 'a' })
  expect(isSameQuery('b=1&a=%E6%97%A5', 'a=日&b=1')).toBe(true)
  expect(isSameQuery('a=1', 'a=2')).toBe(false)
  expect(isSameQuery('', queryText({}))).toBe(true)
})
