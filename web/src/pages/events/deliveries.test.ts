// SPDX-License-Identifier: MIT
import { expect, it } from 'vitest'
import { outcomeOf, prettyBody } from './deliveries'

it('tells what waits from what is tried again', () => {
  expect(outcomeOf({ state: 'sent', tries: 1 })).toBe('sent')
  expect(outcomeOf({ state: 'given_up', tries: 20 })).toBe('givenUp')
  expect(outcomeOf({ state: 'waiting', tries: 0 })).toBe('waiting')
  expect(outcomeOf({ state: 'waiting', tries: 3 })).toBe('again')
})

it('shows JSON in lines, without a change of what it says', () => {
  const body = '{"id":12345678901234567890,"a":[1, {"b":"x{,:\\"}"}],"c":{},"d":[ ]}'
  const shown = prettyBody(body)
  expect(shown.split('\n')).toEqual([
    '{',
    '  "id": 12345678901234567890,',
    '  "a": [',
    '    1,',
    '    {',
    '      "b": "x{,:\\"}"',
    '    }',
    '  ],',
    '  "c": {},',
    '  "d": [ ]',
    '}',
  ])
  expect(prettyBody('no {json')).toBe('no {json')
  expect(prettyBody('')).toBe('')
})
