// SPDX-License-Identifier: MIT
import { expect, test } from 'vitest'
import { parseAnsi, PLAIN, stripAnsi, styleAfter } from './ansi'

const E = '\x1b['
const parse = (line: string) => parseAnsi(line, PLAIN).map((s) => [s.text, s.cls])

test('plain text is one span, nothing is none', () => {
  expect(parse('a <b>&amp;')).toEqual([['a <b>&amp;', '']])
  expect(parse('')).toEqual([])
})

test('colours and weights, on and off', () => {
  expect(parse(`a${E}31mred${E}0m b`)).toEqual([['a', ''], ['red', 'a-fg1'], [' b', '']])
  expect(parse(`${E}1;32;44mx${E}22my${E}39mz`)).toEqual([
    ['x', 'a-fg2 a-bg4 a-bold'],
    ['y', 'a-fg2 a-bg4'],
    ['z', 'a-bg4'],
  ])
  expect(parse(`${E}91mx${E}mplain`)).toEqual([['x', 'a-fg9'], ['plain', '']])
  expect(parse(`${E}7mx${E}31my`)).toEqual([['x', 'a-inverse'], ['y', 'a-bg1']])
  expect(parse(`${E}2;3;4;9mx${E}23;24;29my${E}49;100mz`)).toEqual([
    ['x', 'a-faint a-italic a-underline a-strike'],
    ['y', 'a-faint'],
    ['z', 'a-bg8 a-faint'],
  ])
})

test('colours of the palette and true ones become the nearest of sixteen', () => {
  expect(parse(`${E}38;5;9mx`)).toEqual([['x', 'a-fg9']])
  expect(parse(`${E}38;5;196mx`)).toEqual([['x', 'a-fg9']])
  expect(parse(`${E}38;5;240mx`)).toEqual([['x', 'a-fg8']])
  expect(parse(`${E}38;2;0;0;200;1mx`)).toEqual([['x', 'a-fg4 a-bold']])
  expect(parse(`${E}48;2;255;255;255mx`)).toEqual([['x', 'a-bg15']])
  expect(parse(`${E}38mx`)).toEqual([['x', '']])
})

test('other escapes are dropped, whole', () => {
  expect(parse(`${E}2K${E}1Gx\x1b(By\x1b]0;title\x07z\x1b]8;;http://a b\x1b\\link`)).toEqual([['xyzlink', '']])
  expect(parse(`${E}?25lx`)).toEqual([['x', '']])
  expect(parse(`${E}>4;2mx`)).toEqual([['x', '']])
  expect(parse('\x1b')).toEqual([])
  expect(parse(`end${E}3`)).toEqual([['end3', '']])
  expect(stripAnsi(`a${E}31mb\x1b[0Kc`)).toBe('abc')
})

test('a title whose end was taken away does not swallow the line', () => {
  expect(parse('\x1b]0;title rest of it')).toEqual([['rest of it', '']])
})

test('what a line leaves on holds for the next', () => {
  const style = styleAfter(`${E}33mwarn`, PLAIN)
  expect(parseAnsi('more', style)).toEqual([{ text: 'more', cls: 'a-fg3' }])
  expect(styleAfter('nothing', style)).toBe(style)
  expect(styleAfter(`${E}0m`, style)).toBe(PLAIN)
})
