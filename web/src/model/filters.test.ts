// SPDX-License-Identifier: MIT
import { expect, test } from 'vitest'
import { choiceField, flagField, initialValues, numberField, readQuery, textField, writeQuery, type Fields } from './filters'

interface Values {
  text: string
  group: number | undefined
  running: boolean | undefined
  sort: 'id' | 'next' | 'name'
}
const fields: Fields<Values> = {
  text: textField(),
  group: numberField(),
  running: flagField(),
  sort: choiceField(['id', 'next', 'name'], 'id'),
}

test('what is at its default is not in the address bar', () => {
  expect(writeQuery(fields, initialValues(fields))).toEqual({})
})

test('what is written is read back', () => {
  const values: Values = { text: 'a&b=c', group: 7, running: false, sort: 'next' }
  expect(writeQuery(fields, values)).toEqual({ text: 'a&b=c', group: '7', running: 'no', sort: 'next' })
  expect(readQuery(fields, writeQuery(fields, values))).toEqual(values)
})

test('what cannot be read is the default, what is unknown is left alone', () => {
  const query = { group: 'x', running: 'perhaps', sort: 'colour', other: '1', text: ['first', 'second'] }
  expect(readQuery(fields, query)).toEqual({ text: 'first', group: undefined, running: undefined, sort: 'id' })
})
