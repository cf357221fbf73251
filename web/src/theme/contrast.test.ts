// SPDX-License-Identifier: MIT
// AA of the tokens against their grounds, in both themes: 4.5 for text, 3 for what is only drawn.
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'

const css = readFileSync(new URL('./tokens.css', import.meta.url), 'utf8')

function readTokens(selector: string): Record<string, string> {
  const start = css.indexOf(`${selector} {`)
  const block = css.slice(start, css.indexOf('}', start))
  return Object.fromEntries([...block.matchAll(/--([\w-]+): (#[0-9a-f]{6});/g)].map((m) => [m[1]!, m[2]!]))
}

function luminance(hex: string): number {
  const [r, g, b] = [1, 3, 5].map((i) => {
    const c = parseInt(hex.slice(i, i + 2), 16) / 255
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4
  }) as [number, number, number]
  return 0.2126 * r + 0.7152 * g + 0.0722 * b
}

function contrast(a: string, b: string): number {
  const [high, low] = [luminance(a), luminance(b)].sort((x, y) => y - x) as [number, number]
  return (high + 0.05) / (low + 0.05)
}

const STATES = ['st-plan', 'st-run', 'st-ok', 'st-fail', 'st-skip', 'st-unk']
const TEXTS = ['n-6', 'n-7', 'n-8', 'accent', ...STATES]
const SOFT = ['run', 'ok', 'fail', 'skip', 'unk']

it('white and black are 21 apart', () => expect(contrast('#ffffff', '#000000')).toBeCloseTo(21))

describe.each([
  ['light', ':root'],
  ['dark', ":root[data-theme='dark']"],
])('%s', (_, selector) => {
  const tokens = readTokens(selector)
  const ratio = (text: string, ground: string) => Math.round(contrast(tokens[text]!, tokens[ground]!) * 100) / 100

  it.each(TEXTS)('%s can be read on the page and on the rail', (text) => {
    expect(ratio(text, 'n-0')).toBeGreaterThanOrEqual(4.5)
    expect(ratio(text, 'n-1')).toBeGreaterThanOrEqual(4.5)
  })
  it.each(SOFT)('text and its own colour can be read on soft %s', (name) => {
    expect(ratio('n-8', `st-${name}-soft`)).toBeGreaterThanOrEqual(4.5)
    expect(ratio(`st-${name}`, `st-${name}-soft`)).toBeGreaterThanOrEqual(4.5)
  })
  it('what stands on buttons and on what is chosen can be read', () => {
    expect(ratio('on-accent', 'accent')).toBeGreaterThanOrEqual(4.5)
    expect(ratio('n-8', 'accent-soft')).toBeGreaterThanOrEqual(4.5)
    expect(ratio('accent', 'accent-soft')).toBeGreaterThanOrEqual(4.5)
    expect(ratio('n-6', 'accent-soft')).toBeGreaterThanOrEqual(4.5)
    expect(ratio('n-7', 'n-2')).toBeGreaterThanOrEqual(4.5)
  })
  it('the focus can be seen', () => {
    expect(ratio('focus', 'n-0')).toBeGreaterThanOrEqual(3)
    expect(ratio('focus', 'n-1')).toBeGreaterThanOrEqual(3)
  })
})
