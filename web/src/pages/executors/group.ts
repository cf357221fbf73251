// SPDX-License-Identifier: MIT
/** group: what a form of an executor group says, as calls of api/v1 want it. Pure. */
import type { paths } from '@/api/schema'
import type { Schemas } from '@/api/client'

export type Group = Schemas['Group']
export type NewGroup = paths['/api/v1/groups']['post']['requestBody']['content']['application/json']
export type GroupChange = paths['/api/v1/groups/{id}']['patch']['requestBody']['content']['application/json']

export interface GroupForm {
  appname: string
  title: string
  addressType: Group['addressType']
  /** As it was typed: one a line. */
  addresses: string
  /** What is to become of the access token, which is never shown. */
  token: 'keep' | 'set' | 'none'
  accessToken: string
}

export function formOf(group: Group | null): GroupForm {
  return {
    appname: group?.appname ?? '',
    title: group?.title ?? '',
    addressType: group?.addressType ?? 'auto',
    addresses: group?.addressType === 'manual' ? group.addressList.join('\n') : '',
    token: group ? 'keep' : 'none',
    accessToken: '',
  }
}

/** What was edited stays; all else is as it is now. */
export function rebaseForm(form: GroupForm, before: Group, now: Group): GroupForm {
  const old = formOf(before)
  const fresh = formOf(now)
  const kept: GroupForm = { ...form }
  if (form.appname === old.appname) kept.appname = fresh.appname
  if (form.title === old.title) kept.title = fresh.title
  if (form.addressType === old.addressType) kept.addressType = fresh.addressType
  if (form.addresses === old.addresses) kept.addresses = fresh.addresses
  return kept
}

/** Lines, or what commas and blanks part; each once. */
export function addressesOf(text: string): string[] {
  return [...new Set(text.split(/[\s,，]+/).filter((a) => a))]
}

export function isAddress(text: string): boolean {
  return /^https?:\/\/[^\s/]+/i.test(text) && text.length <= 255
}

export type GroupMistake = 'appname' | 'title' | 'noAddress' | 'address' | 'token'

export function findMistakes(form: GroupForm): GroupMistake[] {
  const found: GroupMistake[] = []
  const length = [...form.appname.trim()].length
  if (length < 4 || length > 64) found.push('appname')
  if (!form.title.trim()) found.push('title')
  if (form.addressType === 'manual') {
    const list = addressesOf(form.addresses)
    if (!list.length) found.push('noAddress')
    else if (!list.every(isAddress)) found.push('address')
  }
  if (form.token === 'set' && !form.accessToken) found.push('token')
  return found
}

export function newGroupOf(form: GroupForm): NewGroup {
  const group: NewGroup = { appname: form.appname.trim(), title: form.title.trim(), addressType: form.addressType }
  if (form.addressType === 'manual') group.addressList = addressesOf(form.addresses)
  if (form.token === 'set') group.accessToken = form.accessToken
  return group
}

/** What differs from the group as it was read. */
export function changesOf(form: GroupForm, group: Group): GroupChange {
  const change: GroupChange = {}
  const { appname, title, addressType, addressList } = newGroupOf(form)
  if (appname !== group.appname) change.appname = appname
  if (title !== group.title) change.title = title
  if (addressType !== group.addressType) change.addressType = addressType
  if (addressList && addressList.join() !== (group.addressType === 'manual' ? group.addressList.join() : ''))
    change.addressList = addressList
  if (form.token === 'set') change.accessToken = form.accessToken
  if (form.token === 'none' && group.hasAccessToken) change.accessToken = null
  return change
}
