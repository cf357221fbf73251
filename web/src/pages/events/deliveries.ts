// SPDX-License-Identifier: MIT
/** deliveries: what became of an event that was to be sent, and its body for the eye. Pure. */
import type { paths } from '@/api/schema'

type List = paths['/api/v1/events/deliveries']['get']
export type Delivery = List['responses'][200]['content']['application/json']['items'][number]
export type DeliveryState = Delivery['state']
export const DELIVERY_STATES: readonly DeliveryState[] = ['waiting', 'sent', 'given_up']

/** `again`: it waits, and was tried before. */
export type Outcome = 'sent' | 'givenUp' | 'again' | 'waiting'

export function outcomeOf(delivery: Pick<Delivery, 'state' | 'tries'>): Outcome {
  if (delivery.state === 'sent') return 'sent'
  if (delivery.state === 'given_up') return 'givenUp'
  return delivery.tries > 0 ? 'again' : 'waiting'
}

/** The shape and the colour of an outcome, as the marks have them. */
export const MARKS: Record<Outcome, { glyph: string; tone: string }> = {
  sent: { glyph: '●', tone: 'st-ok' },
  givenUp: { glyph: '✕', tone: 'st-fail' },
  again: { glyph: '↻', tone: 'st-fail' },
  waiting: { glyph: '○', tone: 'st-plan' },
}

/** JSON in lines; as it is where it is none. Numbers keep all their digits: only blanks are added between the parts. */
export function prettyBody(body: string): string {
  try {
    JSON.parse(body)
  } catch {
    return body
  }
  let depth = 0
  const line = () => `\n${'  '.repeat(depth)}`
  return body.replace(/"(?:[^"\\]|\\.)*"|[{[]\s*[}\]]|[{[\]},:]|\s+/g, (part) => {
    if (/^\s/.test(part)) return ''
    if (part === '{' || part === '[') return (depth++, part + line())
    if (part === '}' || part === ']') return (depth--, line() + part)
    if (part === ',') return part + line()
    return part === ':' ? ': ' : part
  })
}
