// SPDX-License-Identifier: MIT
/**
 * session: who is logged in and what he may do. The one global of the console.
 *
 *   const { user, can } = useSession()
 *   can('write')           in any group
 *   can('run', job.jobGroup)
 */
import { computed, readonly, ref } from 'vue'
import { api, ApiError, askOnce, context, type Schemas } from '@/api/client'
import { queryClient } from '@/api/query'
import { tellLogin } from '@/api/relogin'

export type Right = 'read' | 'run' | 'write' | 'admin'
type Session = Schemas['Session']
export type LoginWays = Schemas['LoginWays']

const session = ref<Session | null>(null)
let asked = false

/** Null: nobody is logged in. Throws ApiError where that cannot be told. */
export async function loadSession(): Promise<Session | null> {
  if (asked) return session.value
  try {
    session.value = await askOnce(() => api.GET('/api/v1/session'))
  } catch (e) {
    if (!(e instanceof ApiError) || e.status !== 401) throw e
    session.value = null
  }
  asked = true
  return session.value
}

/** What the login page offers. */
export function loadWays(): Promise<LoginWays> {
  return askOnce(() => api.GET('/api/v1/login'))
}

/** `isTold`: pages that wait for a login go on. */
function take(next: Session, isTold = true): void {
  const before = session.value?.username
  session.value = next
  asked = true
  if (before !== undefined && before !== next.username) queryClient.clear()
  if (isTold) tellLogin()
  void queryClient.invalidateQueries()
}

/** Somebody may have logged in in another tab: whether that is so. */
export async function lookAgain(): Promise<boolean> {
  try {
    take(await askOnce(() => api.GET('/api/v1/session')))
    return true
  } catch {
    return false
  }
}

/** The recovery codes of a second factor that this login has set up. */
export async function logIn(
  username: string,
  password: string,
  remember: boolean,
  code?: string,
): Promise<readonly string[] | undefined> {
  const body = { username, password, remember, ...(code ? { code } : {}) }
  const { recoveryCodes, ...found } = await askOnce(() => api.POST('/api/v1/session', { body }))
  take(found, !recoveryCodes)
  return recoveryCodes
}

/** True: the browser is on its way to the provider, to log out there as well. */
export async function logOut(): Promise<boolean> {
  const isOutside = session.value?.source === 'oidc'
  try {
    await askOnce(() => api.DELETE('/api/v1/session'))
  } catch (e) {
    if (!(e instanceof ApiError) || e.status !== 401) throw e
  }
  session.value = null
  queryClient.clear()
  if (isOutside) location.assign(`${context}/auth/oidc/logout`)
  return isOutside
}

export function can(right: Right, group?: number): boolean {
  const s = session.value
  if (!s || !s.rights.includes(right)) return false
  return group === undefined || s.role === 'admin' || s.groups === null || s.groups.includes(group)
}

/** The cluster, and what belongs to no group, is for these. */
export function seesAll(): boolean {
  return can('admin') || session.value?.groups === null
}

/** Characters that a new password must have. */
export function usePasswordLength() {
  return { min: computed(() => session.value?.passwordMin ?? 4), max: computed(() => session.value?.passwordMax ?? 20) }
}

export function useSession() {
  return {
    user: readonly(session),
    can,
    isAdmin: computed(() => can('admin')),
  }
}
