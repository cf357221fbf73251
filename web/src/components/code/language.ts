// SPDX-License-Identifier: MIT
/** language: what the editor colours, and how lines end. Pure. */
export type CodeLanguage = 'java' | 'shell' | 'python' | 'php' | 'javascript' | 'powershell' | 'json'

/** How lines end: CR LF where all do; where it is mixed, LF. */
export function lineEndOf(text: string): '\n' | '\r\n' {
  const crlf = text.split('\r\n').length - 1
  const all = text.split(/\r\n|\r|\n/).length - 1
  return all > 0 && crlf === all ? '\r\n' : '\n'
}

/** A part of the text that is wrong, and why. */
export interface Mark {
  from: number
  to: number
  text: string
}
