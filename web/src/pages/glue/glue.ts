// SPDX-License-Identifier: MIT
/** glue: what the GLUE editor decides without a page: languages, line ends, remarks, what is compared. Pure. */
import { LIMITS } from '@/api/limits'
import { lineEndOf, type CodeLanguage } from '@/components/code/language'

const LANGUAGES: Partial<Record<string, CodeLanguage>> = {
  GLUE_GROOVY: 'java',
  GLUE_SHELL: 'shell',
  GLUE_PYTHON: 'python',
  GLUE_PYTHON2: 'python',
  GLUE_PHP: 'php',
  GLUE_NODEJS: 'javascript',
  GLUE_POWERSHELL: 'powershell',
}

/** Undefined: plain text. */
export function languageOf(glueType: string): CodeLanguage | undefined {
  return LANGUAGES[glueType]
}

/** As the editor gives it back when nothing was typed. */
export function settle(text: string): string {
  return text.split(/\r\n|\r|\n/).join(lineEndOf(text))
}

/** Why a remark cannot be saved; the server counts as JavaScript does. */
export function remarkFault(remark: string): 'short' | 'long' | undefined {
  const { minLength, maxLength } = LIMITS.glue.glueRemark
  if (remark.trim().length < minLength) return 'short'
  return remark.length > maxLength ? 'long' : undefined
}

/** A side of a comparison: a version, what is saved now, or the text in the editor. */
export type Side = number | 'saved' | 'text'

/** What a version is compared with first: the text, else, where that is the same, the version before it. */
export function otherSide(version: number, versions: readonly { id: number }[], isSame: boolean): [Side, Side] {
  const at = versions.findIndex((v) => v.id === version)
  const before = versions[at + 1]
  return isSame && before ? [before.id, version] : [version, 'text']
}
