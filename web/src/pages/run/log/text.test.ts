// SPDX-License-Identifier: MIT
import { expect, test } from 'vitest'
import { lineOfHash, LogSearch, LogText, markSpans, SHOWN_MAX } from './text'

function make(...lines: string[]): LogText {
  const text = new LogText()
  text.append(lines)
  return text
}

test('a colour that is left on goes on in lines that come later', () => {
  const text = make('a\x1b[31mb', 'c')
  text.append(['d\x1b[0m', 'e'])
  expect([1, 2, 3].map((i) => text.spans(i)[0]!.cls)).toEqual(['a-fg1', 'a-fg1', ''])
  expect(text.plain(0)).toBe('ab')
})

test('of a very long line the start is drawn', () => {
  const text = make('x'.repeat(SHOWN_MAX + 5))
  expect(text.spans(0)[0]!.text).toHaveLength(SHOWN_MAX)
  expect(text.hidden(0)).toBe(5)
})

test('search: any case, letters as they are, colours aside, goes on with new lines', () => {
  const text = make('Error a.b', 'er\x1b[1mro\x1b[0mr', 'aXb', '')
  const found = new LogSearch('error')
  found.look(text)
  expect(found.hits).toEqual([0, 1])
  text.append(['ERROR'])
  found.look(text)
  expect(found.hits).toEqual([0, 1, 4])
  const dot = new LogSearch('a.b')
  dot.look(text)
  expect(dot.hits).toEqual([0])
  const none = new LogSearch('')
  none.look(text)
  expect(none.hits).toEqual([])
  expect([0, 2, 5].map((line) => found.nextFrom(line))).toEqual([0, 2, 0])
  expect(none.nextFrom(0)).toBe(-1)
})

test('marks cut spans, also across colours', () => {
  const spans = [
    { text: 'an er', cls: '' },
    { text: 'ror', cls: 'a-fg1' },
    { text: ' here', cls: '' },
  ]
  const ranges = new LogSearch('error').rangesIn('an error here')
  expect(ranges).toEqual([[3, 8]])
  expect(markSpans(spans, ranges)).toEqual([
    { text: 'an ', cls: '', marked: false },
    { text: 'er', cls: '', marked: true },
    { text: 'ror', cls: 'a-fg1', marked: true },
    { text: ' here', cls: '', marked: false },
  ])
  expect(markSpans(spans, [])).toHaveLength(3)
  expect(markSpans([{ text: 'aaa', cls: '' }], new LogSearch('a').rangesIn('aaa')).map((s) => s.marked)).toEqual([true, true, true])
})

test('a line in the address bar', () => {
  expect(lineOfHash('#L120')).toBe(119)
  expect(lineOfHash('#L0')).toBe(-1)
  expect(lineOfHash('#Lx')).toBe(-1)
  expect(lineOfHash('')).toBe(-1)
})
