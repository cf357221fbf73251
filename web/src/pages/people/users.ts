// SPDX-License-Identifier: MIT
/** users: what a form of a user says, as calls of api/v1 want it. Pure. */
import type { Schemas } from '@/api/client'

export type User = Schemas['User']
export type Role = User['role']
export const ROLES = ['admin', 'user', 'runner', 'reader'] as const satisfies readonly Role[]

export interface UserForm {
  username: string
  password: string
  role: Role
  allGroups: boolean
  groups: number[]
}

export type UserMistake = 'name' | 'password'

export function formOf(user: User | null): UserForm {
  return {
    username: user?.username ?? '',
    password: '',
    role: user?.role ?? 'user',
    allGroups: user !== null && user.groups === null,
    groups: [...(user?.groups ?? [])],
  }
}

/** Whether that role can have all groups without being named in each: an administrator has, a user never. */
export function mayHaveAll(role: Role): boolean {
  return role === 'runner' || role === 'reader'
}

export function groupsOf(form: UserForm): number[] | null {
  if (form.role === 'admin' || (form.allGroups && mayHaveAll(form.role))) return null
  return [...form.groups].sort((a, b) => a - b)
}

/** `min` and `max`: characters of a password, as the session says. */
export function isPassword(text: string, min: number, max: number): boolean {
  const length = [...text.trim()].length
  return length >= min && length <= max
}

export function findMistakes(form: UserForm, isNew: boolean, min: number, max: number): UserMistake[] {
  const found: UserMistake[] = []
  const name = form.username.trim()
  if (isNew && (!name || [...name].length > 50)) found.push('name')
  if ((isNew || form.password !== '') && !isPassword(form.password, min, max)) found.push('password')
  return found
}

export interface UserChange {
  password?: string
  role?: Role
  groups?: number[] | null
}

/** What differs from the user as it was read. */
export function changesOf(form: UserForm, user: User): UserChange {
  const change: UserChange = {}
  const groups = groupsOf(form)
  if (form.password) change.password = form.password
  if (form.role !== user.role) change.role = form.role
  if (form.role !== user.role || JSON.stringify(groups) !== JSON.stringify(user.groups)) change.groups = groups
  return change
}
