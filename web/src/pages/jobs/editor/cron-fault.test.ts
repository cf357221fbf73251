// SPDX-License-Identifier: MIT
import { expect, test } from 'vitest'
import { placeFault } from './cron-fault'

test('a fault stands in its field', () => {
  expect(placeFault('0 0 25 * * ?', 4, 2)).toEqual({
    before: '0 0 ',
    wrong: '25',
    after: ' * * ?',
    field: 'hour',
    isMissing: false,
  })
  expect(placeFault('  0  0 3 * * 8', 13, 1).field).toBe('weekday')
  expect(placeFault('60 * * * * ?', 0, 2).field).toBe('second')
})

test('what is missing, and what is no field', () => {
  expect(placeFault('0 0 3 * ', 8, 0)).toMatchObject({ field: 'month', wrong: '', isMissing: true })
  expect(placeFault('0 0 3 *', 7, 0)).toMatchObject({ field: 'month', wrong: '', isMissing: true })
  expect(placeFault('0/20 * * * *', 12, 0)).toMatchObject({ field: 'weekday', isMissing: true })
  expect(placeFault('', 0, 0)).toMatchObject({ field: 'second', isMissing: true })
  expect(placeFault('0 0 3', null, null)).toMatchObject({ field: undefined, wrong: '0 0 3', isMissing: false })
  expect(placeFault('0 0 3 * * * * *', 0, 15).field).toBeUndefined()
})
