// SPDX-License-Identifier: MIT
/** json-places: where each value of a JSON text stands, by its JSON Pointer; or where the text is no JSON. Pure. */
export interface Span {
  from: number
  to: number
}

export interface JsonPlaces {
  places: Map<string, Span>
  /** Where the text stops being JSON. */
  wrongAt?: number
}

const SPACE = /[ \t\r\n]*/y
const TEXT = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y
const PLAIN = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y

class Wrong extends Error {
  constructor(readonly at: number) {
    super('no JSON')
  }
}

class Walk {
  readonly places = new Map<string, Span>()
  private at = 0
  constructor(private readonly text: string) {}

  private take(what: RegExp): string | undefined {
    what.lastIndex = this.at
    const found = what.exec(this.text)?.[0]
    if (found !== undefined) this.at += found.length
    return found
  }

  private is(char: string): boolean {
    this.take(SPACE)
    if (this.text[this.at] !== char) return false
    this.at++
    return true
  }

  private need(char: string): void {
    if (!this.is(char)) throw new Wrong(this.at)
  }

  private key(): string {
    this.take(SPACE)
    const found = this.take(TEXT)
    if (found === undefined) throw new Wrong(this.at)
    return JSON.parse(found) as string
  }

  value(pointer: string): void {
    this.take(SPACE)
    const from = this.at
    if (this.is('{')) this.members(pointer)
    else if (this.is('[')) this.elements(pointer)
    else if (this.take(TEXT) === undefined && !this.take(PLAIN)) throw new Wrong(this.at)
    this.places.set(pointer, { from, to: this.at })
  }

  private members(pointer: string): void {
    if (this.is('}')) return
    do {
      const key = this.key()
      this.need(':')
      this.value(`${pointer}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`)
    } while (this.is(','))
    this.need('}')
  }

  private elements(pointer: string): void {
    if (this.is(']')) return
    let n = 0
    do this.value(`${pointer}/${n++}`)
    while (this.is(','))
    this.need(']')
  }

  end(): void {
    this.take(SPACE)
    if (this.at < this.text.length) throw new Wrong(this.at)
  }
}

export function placesOf(text: string): JsonPlaces {
  const walk = new Walk(text)
  try {
    walk.value('')
    walk.end()
    return { places: walk.places }
  } catch (e) {
    if (!(e instanceof Wrong)) throw e
    return { places: walk.places, wrongAt: e.at }
  }
}

/** The value that a pointer leads to, or else the nearest one around it. */
export function spanOf(places: Map<string, Span>, pointer: string): Span | undefined {
  for (let at = pointer; ; at = at.slice(0, at.lastIndexOf('/'))) {
    const found = places.get(at)
    if (found || !at) return found
  }
}

/** From 1, as editors count. */
export function lineAt(text: string, at: number): { line: number; column: number } {
  const before = text.slice(0, at).split('\n')
  return { line: before.length, column: before[before.length - 1]!.length + 1 }
}
