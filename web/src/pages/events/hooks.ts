// SPDX-License-Identifier: MIT
/** hooks: what a form of a hook says, as api/v1 wants it; and how a hook does. Pure. */
import type { paths } from '@/api/schema'

type Hooks = paths['/api/v1/events/hooks']
export type Hook = Hooks['get']['responses'][200]['content']['application/json']['items'][number]
export type NewHook = Hooks['post']['requestBody']['content']['application/json']
export type EventKind = Hook['kinds'][number]
export const EVENT_KINDS: readonly EventKind[] = ['run_ended', 'job_changed', 'flow_ended']

export interface HookForm {
  name: string
  url: string
  secret: string
  dropSecret: boolean
  kinds: EventKind[]
  onlyFailed: boolean
  groups: string[]
  tags: string[]
}

export function formOf(hook: Hook | null): HookForm {
  return {
    name: hook?.name ?? '',
    url: '',
    secret: '',
    dropSecret: false,
    kinds: [...(hook?.kinds ?? (['run_ended', 'flow_ended'] as const))],
    onlyFailed: hook?.only === 'failed',
    groups: [...(hook?.groups ?? [])],
    tags: [...(hook?.tags ?? [])],
  }
}

/** Only ends succeed or fail. */
export function hasEnds(kinds: readonly EventKind[]): boolean {
  return kinds.some((kind) => kind !== 'job_changed')
}

/** In the order of the list, whatever was ticked first. */
function kindsOf(form: HookForm): EventKind[] {
  return EVENT_KINDS.filter((kind) => form.kinds.includes(kind))
}

export function newBody(form: HookForm): NewHook {
  const body: NewHook = {
    name: form.name.trim(),
    url: form.url.trim(),
    kinds: kindsOf(form),
    only: form.onlyFailed && hasEnds(form.kinds) ? 'failed' : 'all',
    groups: form.groups,
    tags: form.tags,
  }
  if (form.secret) body.secret = form.secret
  return body
}

/** What differs from the hook; the URL and the secret stay where nothing was typed. */
export function changedBody(form: HookForm, hook: Hook): Partial<NewHook> {
  const { url, secret, ...wanted } = newBody(form)
  const kinds = kindsOf(form)
  const body: Partial<NewHook> = {}
  if (wanted.name !== hook.name) body.name = wanted.name
  if (url) body.url = url
  if (kinds.join() !== kindsOf(formOf(hook)).join()) body.kinds = kinds
  if (wanted.only !== hook.only) body.only = wanted.only
  if (form.groups.join() !== hook.groups.join()) body.groups = form.groups
  if (form.tags.join() !== hook.tags.join()) body.tags = form.tags
  if (form.dropSecret) body.secret = null
  else if (secret) body.secret = secret
  return body
}

export type HookState = 'off' | 'failing' | 'behind' | 'fresh' | 'fine'

/** `failing`: the last try did not arrive. `behind`: something waits, and nothing says why. `fresh`: nothing was sent. */
export function stateOf(hook: Pick<Hook, 'enabled' | 'waiting' | 'lastError' | 'lastSentMs'>): HookState {
  if (!hook.enabled) return 'off'
  if (hook.lastError) return 'failing'
  if (hook.waiting) return 'behind'
  return hook.lastSentMs === null ? 'fresh' : 'fine'
}
