// SPDX-License-Identifier: MIT
import { createI18n } from 'vue-i18n'
import { expect, test } from 'vitest'
import { compileAll } from './compile'

const texts = {
  plain: 'No run: 100%, a|b, @ and $& stay',
  named: '{name} runs {n} times, {name}',
  literal: "write {'{'}name{'}'} or a {'|'} b",
  deep: { er: 'the {n}th' },
  two: 'one job | {n} jobs',
  three: 'no job | one job | {n} jobs of {name}',
}
const { t } = createI18n({
  legacy: false,
  locale: 'en',
  messages: { en: compileAll(texts) },
}).global

test('values stand where their names are', () => {
  expect(t('plain')).toBe('No run: 100%, a|b, @ and $& stay')
  expect(t('named', { name: '<b>$&', n: 0 })).toBe('<b>$& runs 0 times, <b>$&')
  expect(t('named', { n: 3 })).toBe(' runs 3 times, ')
  expect(t('literal')).toBe('write {name} or a | b')
  expect(t('deep.er', { n: 4 })).toBe('the 4th')
})

test('plural forms are chosen by a number', () => {
  expect([0, 1, 2].map((n) => t('two', { n }, n))).toEqual(['0 jobs', 'one job', '2 jobs'])
  expect([0, 1, 2].map((n) => t('three', { n, name: 'x' }, n))).toEqual(['no job', 'one job', '2 jobs of x'])
  expect(t('two', { n: 7 })).toBe('7 jobs')
})
