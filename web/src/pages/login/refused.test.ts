// SPDX-License-Identifier: MIT
import { expect, test } from 'vitest'
import { textOfRefusal } from './refused'

test('a word that the server writes has its text', () => {
  expect(textOfRefusal('nobody')).toBe('login.refused.nobody')
  expect(textOfRefusal('away')).toBe('login.refused.away')
})

test('a word that somebody else wrote is not shown', () => {
  expect(textOfRefusal('<b>call 555</b>')).toBe('login.refused.broken')
  expect(textOfRefusal('constructor')).toBe('login.refused.broken')
  expect(textOfRefusal('')).toBeUndefined()
  expect(textOfRefusal(undefined)).toBeUndefined()
  expect(textOfRefusal(['away', 'code'])).toBeUndefined()
})
