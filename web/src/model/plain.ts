// SPDX-License-Identifier: MIT
/** plain: messages of the log as text. They are HTML as Java admins and executors wrote it; nobody trusts it. Pure. */
const ENTITIES: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ', '#39': "'" }

/** Line ends for <br>, nothing for the tags that these messages have; any other `<` is what it is. */
export function plainMessage(html: string | null): string {
  return (html ?? '')
    .replace(/<br\s*\/?>/gi, '\n')
    .replace(/<\/?(?:span|b|font|p|div|i|strong)(?:\s[^<>]*)?>/gi, '')
    .replace(/&(amp|lt|gt|quot|apos|nbsp|#39);/g, (_, name: string) => ENTITIES[name]!)
    .replace(/\n{3,}/g, '\n\n')
    .trim()
}
