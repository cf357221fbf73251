// SPDX-License-Identifier: MIT
/**
 * ansi: colours and weights of terminals (SGR) in a line of a log, as spans with classes. Other escapes are dropped.
 * What a line leaves switched on holds for the next one. Pure.
 */
export interface Style {
  /** 0 to 15; -1: as the text around. */
  fg: number
  bg: number
  bold: boolean
  faint: boolean
  italic: boolean
  underline: boolean
  strike: boolean
  inverse: boolean
}

export interface Span {
  text: string
  /** Classes; '' for plain text. */
  cls: string
}

export const PLAIN: Style = Object.freeze({
  fg: -1,
  bg: -1,
  bold: false,
  faint: false,
  italic: false,
  underline: false,
  strike: false,
  inverse: false,
})

// CSI; OSC up to its end, or where that is missing up to a blank; any other escape.
const ESCAPE = /\x1b\[([0-?]*)[ -/]*([@-~])|\x1b\](?:[^\x07\x1b]*(?:\x07|\x1b\\)|[^\x07\x1b ]* ?)|\x1b[ -/]*[0-~]?/g

export function stripAnsi(line: string): string {
  return line.includes('\x1b') ? line.replace(ESCAPE, '') : line
}

/** The nearest of the sixteen colours. */
function nearest(r: number, g: number, b: number): number {
  const most = Math.max(r, g, b)
  if (most < 48) return 0
  if (most - Math.min(r, g, b) < 24) return most > 208 ? 15 : most > 144 ? 7 : 8
  const bit = (v: number, n: number) => (v > most / 2 ? n : 0)
  return bit(r, 1) + bit(g, 2) + bit(b, 4) + (most > 208 ? 8 : 0)
}

function paletteColour(n: number): number {
  if (n < 16) return n
  if (n > 231) return nearest(...([1, 1, 1].map(() => 8 + (n - 232) * 10) as [number, number, number]))
  const level = (v: number) => (v ? 55 + v * 40 : 0)
  const cube = n - 16
  return nearest(level(Math.floor(cube / 36)), level(Math.floor(cube / 6) % 6), level(cube % 6))
}

/** A colour behind 38 or 48: how many numbers it takes, and which one it is. */
function extended(codes: number[], at: number): [number, number] {
  const colour = (v: number | undefined) => Math.min(255, Math.max(0, v ?? 0))
  if (codes[at + 1] === 5) return [2, paletteColour(colour(codes[at + 2]))]
  if (codes[at + 1] === 2) return [4, nearest(colour(codes[at + 2]), colour(codes[at + 3]), colour(codes[at + 4]))]
  return [codes.length, -1]
}

function applyOne(style: Style, code: number): Style {
  if (code >= 30 && code <= 37) return { ...style, fg: code - 30 }
  if (code >= 40 && code <= 47) return { ...style, bg: code - 40 }
  if (code >= 90 && code <= 97) return { ...style, fg: code - 82 }
  if (code >= 100 && code <= 107) return { ...style, bg: code - 92 }
  switch (code) {
    case 0:
      return PLAIN
    case 1:
      return { ...style, bold: true }
    case 2:
      return { ...style, faint: true }
    case 3:
      return { ...style, italic: true }
    case 4:
    case 21:
      return { ...style, underline: true }
    case 7:
      return { ...style, inverse: true }
    case 9:
      return { ...style, strike: true }
    case 22:
      return { ...style, bold: false, faint: false }
    case 23:
      return { ...style, italic: false }
    case 24:
      return { ...style, underline: false }
    case 27:
      return { ...style, inverse: false }
    case 29:
      return { ...style, strike: false }
    case 39:
      return { ...style, fg: -1 }
    case 49:
      return { ...style, bg: -1 }
    default:
      return style
  }
}

function apply(style: Style, parameters: string): Style {
  if (/[^0-9;:]/.test(parameters)) return style
  const codes = parameters.split(/[;:]/).map((p) => (p === '' ? 0 : Number(p)))
  let next = style
  for (let i = 0; i < codes.length; i++) {
    const code = codes[i]!
    if (code !== 38 && code !== 48) {
      next = applyOne(next, code)
      continue
    }
    const [taken, colour] = extended(codes, i)
    next = code === 38 ? { ...next, fg: colour } : { ...next, bg: colour }
    i += taken
  }
  return next
}

export function classesOf(style: Style): string {
  const fg = style.inverse ? style.bg : style.fg
  const bg = style.inverse ? style.fg : style.bg
  const names: string[] = []
  if (fg >= 0) names.push(`a-fg${fg}`)
  if (bg >= 0) names.push(`a-bg${bg}`)
  if (style.inverse && style.fg < 0 && style.bg < 0) names.push('a-inverse')
  if (style.bold) names.push('a-bold')
  if (style.faint) names.push('a-faint')
  if (style.italic) names.push('a-italic')
  if (style.underline) names.push('a-underline')
  if (style.strike) names.push('a-strike')
  return names.join(' ')
}

/** The style behind the line. */
export function styleAfter(line: string, style: Style): Style {
  if (!line.includes('\x1b')) return style
  for (const match of line.matchAll(ESCAPE)) if (match[2] === 'm') style = apply(style, match[1]!)
  return style
}

export function parseAnsi(line: string, start: Style): Span[] {
  if (!line.includes('\x1b')) return line ? [{ text: line, cls: classesOf(start) }] : []
  const spans: Span[] = []
  let style = start
  let at = 0
  const put = (text: string) => {
    const cls = classesOf(style)
    const last = spans[spans.length - 1]
    if (!text) return
    if (last && last.cls === cls) last.text += text
    else spans.push({ text, cls })
  }
  for (const match of line.matchAll(ESCAPE)) {
    put(line.slice(at, match.index))
    at = match.index + match[0].length
    if (match[2] === 'm') style = apply(style, match[1]!)
  }
  put(line.slice(at))
  return spans
}
