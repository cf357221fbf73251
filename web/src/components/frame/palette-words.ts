// SPDX-License-Identifier: MIT
/** palette-words: what was typed into the palette: an action and a job ("stop order-sync"), an id, or any text. Pure. */
export const ACTIONS = ['run', 'start', 'stop', 'edit', 'why'] as const
export type PaletteAction = (typeof ACTIONS)[number]

export interface PaletteWords {
  /** Of jobs. */
  action: PaletteAction | undefined
  /** What jobs are looked for by; empty: any. */
  text: string
  /** Of a job or a run. */
  id: number | undefined
}

/** `words`: how an action is called, in the user's language; the English names always hold. */
export function readPalette(typed: string, words: Record<PaletteAction, string>): PaletteWords {
  const text = typed.trim()
  for (const action of ACTIONS) {
    for (const word of [words[action].toLowerCase(), action]) {
      if (!text.toLowerCase().startsWith(word)) continue
      const rest = text.slice(word.length)
      // A word of letters ends at a blank: "stopped" is no "stop". Chinese has none between words.
      if (rest !== '' && /[a-z]$/i.test(word) && !/^\s/.test(rest)) continue
      return { action, text: rest.trim(), id: undefined }
    }
  }
  const id = /^#?(\d{1,15})$/.exec(text)
  return { action: undefined, text, id: id ? Number(id[1]) : undefined }
}
