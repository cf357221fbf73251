// SPDX-License-Identifier: MIT
/**
 * session: who is logged in and what he may do. The one global of the console.
 *
 *   const { user, can } = useSession()
 *   can('write')           in any group
 *   can('run', job.jobGroup)
 */
import { computed, readonly, ref } from 'vue'
import { api, ApiError, askOnce, type Schemas } from '@/api/client'
import { queryClient } from '@/api/query'
import { tellLogin } from '@/api/relogin'

export type Right = 'read' | 'run' | 'write' | 'admin'
type Session = Schemas['Session']

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

export async function logIn(username: string, password: string, remember: boolean): Promise<void> {
  const before = session.value?.username
  session.value = await askOnce(() => api.POST('/api/v1/session', { body: { username, password, remember } }))
  asked = true
  if (before !== undefined && before !== session.value?.username) queryClient.clear()
  tellLogin()
  void queryClient.invalidateQueries()
}

export async function logOut(): Promise<void> {
  try {
    await askOnce(() => api.DELETE('/api/v1/session'))
  } catch (e) {
    if (!(e instanceof ApiError) || e.status !== 401) throw e
  }
  session.value = null
  queryClient.clear()
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

export function useSession() {
  return {
    user: readonly(session),
    can,
    isAdmin: computed(() => can('admin')),
  }
}
