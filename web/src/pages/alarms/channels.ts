// SPDX-License-Identifier: MIT
/** channels: what a form of a webhook says, as api/v1 wants it; and what to do about a test that failed. Pure. */
import type { Schemas } from '@/api/client'
import { LIMITS } from '@/api/limits'

export type Channel = Schemas['AlarmChannel']
export type SentAlarm = Schemas['SentAlarm']
export type WebhookKind = Schemas['WebhookKind']
/** Those of people first, the one of programs last. */
export const WEBHOOK_KINDS: readonly WebhookKind[] = [...LIMITS.channel.kind.choices.filter((k) => k !== 'json'), 'json']

export interface ChannelForm {
  kind: WebhookKind
  url: string
  secret: string
  dropSecret: boolean
  name: string
  groups: string[]
  tags: string[]
  quiet: string
}

export function formOf(channel: Channel | null): ChannelForm {
  const kind = WEBHOOK_KINDS.find((k) => k === channel?.kind) ?? 'dingtalk'
  return {
    kind,
    url: '',
    secret: '',
    dropSecret: false,
    name: channel?.name ?? '',
    groups: [...(channel?.groups ?? [])],
    tags: [...(channel?.tags ?? [])],
    quiet: channel?.quiet ?? '',
  }
}

/** Which of them sign with a secret. */
const SIGNS: Record<WebhookKind, boolean> = { dingtalk: true, wecom: false, feishu: true, slack: false, json: true }

export function hasSecret(kind: WebhookKind): boolean {
  return SIGNS[kind]
}

export function isUrl(text: string): boolean {
  return /^https?:\/\/[^\s/]+\S*$/.test(text.trim())
}

export interface ChannelBody {
  kind: WebhookKind
  url: string
  secret?: string | null
  name?: string
  groups: string[]
  tags?: string[]
  quiet?: string | null
}

export function newBody(form: ChannelForm): ChannelBody {
  const body: ChannelBody = { kind: form.kind, url: form.url.trim(), groups: form.groups }
  if (form.name.trim()) body.name = form.name.trim()
  if (form.tags.length) body.tags = form.tags
  if (form.quiet.trim()) body.quiet = form.quiet.trim()
  if (hasSecret(form.kind) && form.secret) body.secret = form.secret
  return body
}

/** What differs from the channel; the URL and the secret stay where nothing was typed. */
export function changedBody(form: ChannelForm, channel: Channel): Partial<ChannelBody> {
  const body: Partial<ChannelBody> = {}
  if (form.kind !== channel.kind) body.kind = form.kind
  if (form.url.trim()) body.url = form.url.trim()
  if (form.name.trim() && form.name.trim() !== channel.name) body.name = form.name.trim()
  if (form.groups.join() !== channel.groups.join()) body.groups = form.groups
  if (form.tags.join() !== channel.tags.join()) body.tags = form.tags
  if (form.quiet.trim() !== (channel.quiet ?? '')) body.quiet = form.quiet.trim() || null
  if (form.dropSecret || (channel.hasSecret && !hasSecret(form.kind))) body.secret = null
  else if (hasSecret(form.kind) && form.secret) body.secret = form.secret
  return body
}

export type Advice = 'key' | 'gone' | 'name' | 'connect' | 'certificate' | 'busy' | 'forbidden' | 'other'

/** What usually helps, by what the receiver or the connection said. */
export function adviseOn(error: string): Advice {
  if (/may not be called|not allowed/.test(error)) return 'forbidden'
  if (/certificate|SSL/i.test(error)) return 'certificate'
  if (/has no address|look-up|resolve/i.test(error)) return 'name'
  if (/status 429|too many|130101|45009|9499/i.test(error)) return 'busy'
  if (/status 40[13]|sign|token|310000|93000|19021|invalid.*key/i.test(error)) return 'key'
  if (/status (404|410)|no_team|no_service/.test(error)) return 'gone'
  if (/connect|timed out|timeout|refused|reset/i.test(error)) return 'connect'
  return 'other'
}
