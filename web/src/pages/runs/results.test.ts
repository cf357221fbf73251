// SPDX-License-Identifier: MIT
import { expect, test } from 'vitest'
import { CHIPS, cleanStates, isOn, toggle } from './results'
import { FAILURES } from '@/model/run-words'

const chip = (name: string) => CHIPS.find((c) => c.name === name)!

test('a chip stands for all its states', () => {
  expect(toggle(chip('unknown'), '')).toBe('lost,unknown')
  expect(toggle(chip('failed'), 'lost,unknown')).toBe(FAILURES)
  expect(isOn(chip('unknown'), 'lost')).toBe(true)
  expect(toggle(chip('unknown'), FAILURES)).toBe('failed')
  expect(toggle(chip('failed'), 'failed')).toBe('')
})

test('the same choice is the same text, whatever the address bar had', () => {
  expect(cleanStates('unknown,nonsense,failed,lost,failed')).toBe(FAILURES)
  expect(cleanStates('')).toBe('')
})
