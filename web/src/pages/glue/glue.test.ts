// SPDX-License-Identifier: MIT
import { expect, test } from 'vitest'
import { languageOf, otherSide, remarkFault, settle } from './glue'
import { lineEndOf } from '@/components/code/language'
import { GLUE_TEMPLATES } from './templates'
import { GLUE_TYPES } from '../jobs/editor/form'

test('each kind of GLUE has a language and a template, BEAN has none', () => {
  for (const type of GLUE_TYPES) {
    expect(languageOf(type) !== undefined, type).toBe(type !== 'BEAN')
    expect(GLUE_TEMPLATES[type] !== undefined, type).toBe(type !== 'BEAN')
  }
})

test('line ends stay as they are where they are the same', () => {
  expect(lineEndOf('a\r\nb\r\n')).toBe('\r\n')
  expect(lineEndOf('a\r\nb\n')).toBe('\n')
  expect(lineEndOf('a')).toBe('\n')
  expect(settle('a\r\nb\r\n')).toBe('a\r\nb\r\n')
  expect(settle('a\r\nb\nc\rd')).toBe('a\nb\nc\nd')
})

test('a remark has 4 to 100 characters', () => {
  expect(remarkFault('abc')).toBe('short')
  expect(remarkFault('    ')).toBe('short')
  expect(remarkFault('abcd')).toBeUndefined()
  expect(remarkFault('修复日期')).toBeUndefined()
  expect(remarkFault('x'.repeat(100))).toBeUndefined()
  expect(remarkFault('x'.repeat(101))).toBe('long')
})

test('a version is compared with the text, or with the one before where they are the same', () => {
  const versions = [{ id: 9 }, { id: 7 }, { id: 4 }]
  expect(otherSide(7, versions, false)).toEqual([7, 'text'])
  expect(otherSide(9, versions, true)).toEqual([7, 9])
  expect(otherSide(4, versions, true)).toEqual([4, 'text'])
})
