// SPDX-License-Identifier: MIT
import { expect, test } from 'vitest'
import { reasonWords } from './reason-words'
import en from '@/i18n/en/reasons'
import cn from '@/i18n/zh-CN/reasons'
import tw from '@/i18n/zh-TW/reasons'
import type { Translate } from '@/i18n'

/** The key, with its values. */
const t: Translate = (key, values = {}) => [key, ...Object.values(values)].join(' ')

test('every code has its words, with the value that belongs to it', () => {
  expect(reasonWords('no-executor', undefined, t)).toBe('reasons.why.no-executor ')
  expect(reasonWords('http-status', '503', t)).toBe('reasons.why.http-status 503')
  expect(reasonWords('killed', 'ann', t)).toBe('reasons.by reasons.why.killed ann ann')
  expect(reasonWords('killed', undefined, t)).toBe('reasons.why.killed ')
})

test('words with a value have it in every language', () => {
  const withValue = Object.entries(en.why).filter(([, text]) => text.includes('{value}'))
  expect(withValue).toHaveLength(5)
  for (const [code] of withValue)
    for (const texts of [cn.why, tw.why]) expect(texts[code as keyof typeof texts]).toContain('{value}')
})
