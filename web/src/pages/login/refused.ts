// SPDX-License-Identifier: MIT
/** refused: why a login by a provider did not work, as src/http/login/oidc.c writes it into the address. Pure. */
import type { MessageKey } from '@/i18n'
import type en from '@/i18n/en/login'

type Reason = keyof typeof en.refused

const REASONS: Record<Reason, true> = {
  nobody: true,
  taken: true,
  name: true,
  groups: true,
  away: true,
  certificate: true,
  denied: true,
  state: true,
  code: true,
  client: true,
  token: true,
  broken: true,
}

/** What anybody may write into an address is never shown itself. Undefined: nothing was refused. */
export function textOfRefusal(word: unknown): MessageKey | undefined {
  if (typeof word !== 'string' || word === '') return undefined
  return `login.refused.${Object.hasOwn(REASONS, word) ? (word as Reason) : 'broken'}`
}
