// SPDX-License-Identifier: MIT
/** text: the lines of a log that were read so far: as spans to draw, as text to search in. Pure. */
import { parseAnsi, PLAIN, stripAnsi, styleAfter, type Span, type Style } from './ansi'

/** Characters of a line that are drawn; the download has all. */
export const SHOWN_MAX = 20_000

export class LogText {
  readonly lines: string[] = []
  /** The style with which a line begins, where it is not plain. */
  private starts = new Map<number, Style>()
  private style: Style = PLAIN

  append(lines: string[]): void {
    for (const line of lines) {
      if (this.style !== PLAIN) this.starts.set(this.lines.length, this.style)
      this.lines.push(line)
      this.style = styleAfter(line, this.style)
    }
  }

  get length(): number {
    return this.lines.length
  }

  plain(i: number): string {
    return stripAnsi(this.lines[i] ?? '')
  }

  spans(i: number): Span[] {
    return parseAnsi((this.lines[i] ?? '').slice(0, SHOWN_MAX), this.starts.get(i) ?? PLAIN)
  }

  /** Characters that are not drawn. */
  hidden(i: number): number {
    return Math.max(0, (this.lines[i] ?? '').length - SHOWN_MAX)
  }
}

/** Lines that have the words, in any case; goes on where it stopped when more lines came. */
export class LogSearch {
  readonly hits: number[] = []
  private upTo = 0
  private wanted: RegExp | undefined

  constructor(readonly words: string) {
    this.wanted = words ? new RegExp(words.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'), 'giu') : undefined
  }

  look(text: LogText): void {
    for (; this.upTo < text.length; this.upTo++) {
      if (!this.wanted) continue
      this.wanted.lastIndex = 0
      if (this.wanted.test(text.plain(this.upTo))) this.hits.push(this.upTo)
    }
  }

  /** Where in a text the words are: [from, to). */
  rangesIn(text: string): [number, number][] {
    return this.wanted ? [...text.matchAll(this.wanted)].map((m) => [m.index, m.index + m[0].length]) : []
  }

  /** Which of the hits is at or behind a line; -1: there are none. */
  nextFrom(line: number): number {
    const at = this.hits.findIndex((hit) => hit >= line)
    return this.hits.length ? Math.max(0, at) : -1
  }
}

export interface MarkedSpan extends Span {
  marked: boolean
}

/** The spans, cut where what was searched for begins and ends. */
export function markSpans(spans: Span[], ranges: [number, number][]): MarkedSpan[] {
  const out: MarkedSpan[] = []
  let base = 0
  for (const span of spans) {
    const end = base + span.text.length
    let at = base
    const put = (to: number, marked: boolean) => {
      if (to > at) out.push({ text: span.text.slice(at - base, to - base), cls: span.cls, marked })
      at = Math.max(at, to)
    }
    for (const [from, to] of ranges) {
      if (to <= base || from >= end) continue
      put(Math.max(base, from), false)
      put(Math.min(end, to), true)
    }
    put(end, false)
    base = end
  }
  return out
}

/** `#L120` as an index; -1: none. */
export function lineOfHash(hash: string): number {
  const match = /^#L([1-9]\d{0,8})$/.exec(hash)
  return match ? Number(match[1]) - 1 : -1
}
